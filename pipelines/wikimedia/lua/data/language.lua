-- mw.language: https://www.mediawiki.org/wiki/Extension:Scribunto/Lua_reference_manual#Language_library

local services = ...
local ask, mw, site, tostring = services.ask, services.mw, services.site, services.tostring
local tonumber, setmetatable, type, ipairs = tonumber, setmetatable, type, ipairs
local language = {FALLBACK_MODE = 0, STRICT_FALLBACK_MODE = 1}
local methods = {}
local RIGHT_TO_LEFT = {}
for code in string.gmatch("ar arc arz azb ckb dv fa glk he khw ks ku-arab lki lrc mzn nqo pnb ps sd ug ur yi", "%S+") do
	RIGHT_TO_LEFT[code] = true
end

function language.new(code)
	return setmetatable({code = tostring(code)}, {__index = methods})
end
language.getLanguage = language.new

function language.getContentLanguage()
	return language.new(site.language)
end

function language.fetchLanguageName(code, shown_in)
	return ask("language_name", tostring(code), shown_in or "")
end

function language.fetchLanguageNames(shown_in)
	return ask("language_names", shown_in or "")
end

function language.isKnownLanguageTag(code)
	return type(code) == "string" and ask("language_name", code, "") ~= ""
end
language.isSupportedLanguage = language.isKnownLanguageTag
language.isValidBuiltInCode = function(code)
	return type(code) == "string" and string.find(code, "^[%a%d-]+$") ~= nil
end
language.isValidCode = language.isValidBuiltInCode

function language.getFallbacksFor(code)
	return ask("fallbacks", tostring(code))
end

function methods:getCode()
	return self.code
end

function methods:toBcp47Code()
	return self.code
end

function methods:isRTL()
	return RIGHT_TO_LEFT[self.code] or false
end

function methods:getDir()
	return self:isRTL() and "rtl" or "ltr"
end

function methods:getDirMark(opposite)
	return (self:isRTL() == not opposite) and "\226\128\143" or "\226\128\142"
end

function methods:getArrow(direction)
	local arrows = {up = "\226\134\145", down = "\226\134\147", left = "\226\134\144", right = "\226\134\146"}
	if direction == "forwards" or direction == nil then
		direction = self:isRTL() and "left" or "right"
	elseif direction == "backwards" then
		direction = self:isRTL() and "right" or "left"
	end
	return arrows[direction]
end

function methods:getFallbackLanguages()
	return language.getFallbacksFor(self.code)
end

function methods:lc(text)
	return mw.ustring.lower(text)
end

function methods:uc(text)
	return mw.ustring.upper(text)
end

function methods:lcfirst(text)
	return mw.ustring.lower(mw.ustring.sub(text, 1, 1)) .. mw.ustring.sub(text, 2)
end

function methods:ucfirst(text)
	return mw.ustring.upper(mw.ustring.sub(text, 1, 1)) .. mw.ustring.sub(text, 2)
end

function methods:caseFold(text)
	return mw.ustring.lower(text)
end

function methods:formatNum(number, options)
	local text = tostring(number)
	if options and options.noCommafy then
		return text
	end
	return ask("number", self.code, text)
end

function methods:parseFormattedNumber(text)
	return tonumber((ask("plain_number", self.code, tostring(text))))
end

function methods:formatDate(format, timestamp, is_local)
	return ask("time", self.code, tostring(format), timestamp and tostring(timestamp) or "") or services.stop("date")
end

function methods:plural(number, ...)
	local forms = type((...)) == "table" and (...) or {...}
	return ask("plural", self.code, tostring(number), unpack(forms)) or services.stop("plural")
end
methods.convertPlural = methods.plural

function methods:gender(what, masculine, feminine, neutral)
	local forms = type(masculine) == "table" and masculine or {masculine, feminine, neutral}
	return what == "male" and forms[1] or what == "female" and forms[2] or forms[3] or forms[1]
end

function methods:grammar(case, text)
	services.stop("grammar")
end
methods.convertGrammar = methods.grammar

return language
