"""Lists of Japanese nouns by whether they have content of their own.

**Formal nouns** (形式名詞) have a grammatical function; the words that modify them have the content: 入院した場合,
手術のため. Another noun in their place breaks the sentence. So does a replaced noun that joins sentences, such as 一方.

**Nouns of one kanji.** Most kanji are only parts of words: 察 occurs in 観察 and 診察, and is no word. Sudachi's
dictionary has them as common nouns all the same, and no field of an entry distinguishes them from words (readings and
synonyms were tried). So those that are words are listed.
"""

from __future__ import annotations


def _words(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


# Always formal: they need a modifier, or join sentences.
FORMAL = _words(
    "こと もの ため はず わけ よう まま とおり ところ ほう ほど ゆえ せい おかげ つもり とき ころ たび うち くらい",
    "ぐらい かぎり かわり ついで うえ 場合 際 為 筈 儘 折 以上 以外 以降 次第 一方 反面 その後 その他",
)
# Formal with a modifier; without, a thing, a place or a time.
SOMETIMES_FORMAL = _words(
    "事 物 時 所 訳 様 通り 方 程 故 頃 度 内 上 下 中 後 前 間 他 外 点 末 限り 結果 途中 最中 直前 直後 以前",
    "以下 以内 以後 同時 代わり なか あいだ あと のち まえ ほか",
)
# What a tagger takes for nouns: adverbs, and titles without a name.
NOT_NOUNS = _words("比較的 とも 一応 大変 随分 大分 多少 若干 極めて さん くん ちゃん")
# The kanji that are words in modern Japanese.
OF_ONE_SIGN = frozenset(
    # The body and what ails it.
    "頭顔額髪眉目眼瞳耳鼻口唇歯牙舌喉首頸肩胸乳脇腋背腹腰尻腕肘手掌拳指爪股腿膝脛脚足踵骨髄肉皮肌膚毛血汗涙唾痰膿尿便糞液"
    "脳肺心胃腸肝胆腎脾膵臍腺腱筋膜膣胎卵精病癌瘤痣疣痔傷痕咳熱痒痺癖声息命体身姿影裸骸髭顎頬瞼皺垢脈嚢囊"
    # People.
    "人男女子親父母兄弟姉妹夫妻嫁婿孫娘姪甥王姫帝殿君敵友仲客主侍僧尼兵民衆臣妃婆爺神仏鬼霊魂皆"
    # Beasts and plants.
    "犬猫牛馬羊豚鹿猿熊虎狐狸鼠兎猪象獣竜龍鳥鶏鳩鷹鷲鶴雀烏鴨雁魚鯉鮎鮭鯨鰻蟹貝亀蛇蛙虫蚊蠅蝶蛾蜂蟻蚕蛍蚤虱巣羽翼尾嘴蹄"
    "木樹林森枝幹根葉芽花蕾実種茎穂草苔藻蔓棘松杉檜竹笹柳桜梅桃栗柿梨柚杏桑楓桐椿榎樫藤菊蘭蓮菫菱芦茅麦米稲粟豆芋瓜葱苗"
    "菌黴茸芝藁苺籐雌雄児"
    # Earth, sky, weather, matter.
    "空天日月星雲雨雪雷霧霞露霜虹風嵐凪波潮渦海湖池沼川河滝泉湾岸浜磯島岬岩石砂土泥塵埃山丘峰岳谷崖坂峠野畑田庭道路橋"
    "堤溝穴底光闇陰火炎煙灰炭湯水氷泡滴油金銀銅鉄鉛鋼錫錆玉珠核陸宙沢沖淵境麓雫絹綿麻毒薬酸塩糖粉粒粥"
    # What is made.
    "家宿館城塔寺宮社店門扉戸窓壁柱梁床棚廊軒蔵倉塀柵檻垣塾寮房座席駅港町村里都市街郡県国州郷塚墓碑車船舟艦帆櫂筏舵錨輪"
    "軸弓矢剣刀刃槍銃弾砲盾矛鎧兜旗幕鐘鈴笛琴鼓弦机椅箱袋籠桶樽壺瓶缶皿椀鉢杯箸匙鍋釜窯炉臼杵傘靴鞄帯紐縄綱糸網布服衣袖襟"
    "裾帽鏡櫛扇筆墨硯紙札券帳本書詩歌句詞文字図絵版印鍵錠釘針鋏鎌斧鍬鋸槌鎖枷栓栞弁管棒板枠桁杭杖竿箔球鞠鞭罠餌膳飯餅麺"
    "茶酒酢汁飴餡塊束欄灯籤暦楔絆繭樋襖畳枕台凧像器具蓋鞍棟串革甲秤筒盤轡幌駒鉾丼機"
    # Numbers, shapes, places, times, kinds.
    "上下左右前後中内外横縦隣側端隅角奥表裏先元頂縁際間東西南北朝昼夜晩夕暮春夏秋冬年時世昔今末旬暇線点面円丸形型数量値倍"
    "差割幅丈嵩列段層組班隊群類項章節部式率番順序軍党派票籍局署園課名姓"
    # What is thought and done.
    "事物気情愛恋欲夢志念徳罪罰恥嘘謎噂恩仇運福幸禍害損得利跡例別話音語答問策術技芸法刑掟職役官任功勘賞税銭財株富宝旅祭"
    "宴劇曲舞戦乱勝負力圧性質格品柄味香匂臭色赤青黒白黄緑紫紺紅藍橙隙禅灸鍼案論説訳旨趣脂糧盆塁途死生会斑場陣証孔殻径屑糊"
)
