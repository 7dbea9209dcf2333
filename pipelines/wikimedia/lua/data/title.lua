-- mw.title: https://www.mediawiki.org/wiki/Extension:Scribunto/Lua_reference_manual#Title_library

local services = ...
local ask, mw, tostring, stop = services.ask, services.mw, services.tostring, services.stop
local type, tonumber, setmetatable, rawget, error = type, tonumber, setmetatable, rawget, error
local title = {}
local methods, computed = {}, {}
local meta = {}
local find, match, gsub = string.find, services.env.string.match, services.env.string.gsub

local function parts(t)
	local subpages = mw.site.namespaces[t.namespace]
	return subpages and subpages.hasSubpages
end

function meta.__index(t, name)
	local f = computed[name]
	if f then
		return f(t)
	end
	return methods[name]
end

function meta.__tostring(t)
	return t.prefixedText
end

function meta.__eq(a, b)
	return title.equals(a, b)
end

function meta.__lt(a, b)
	return title.compare(a, b) < 0
end

function meta.__le(a, b)
	return title.compare(a, b) <= 0
end

function meta.__concat(a, b)
	return tostring(a) .. tostring(b)
end

local function make(namespace, text, fragment, interwiki)
	return setmetatable({namespace = namespace, text = text, fragment = fragment or "", interwiki = interwiki or ""}, meta)
end

function title.new(text, namespace)
	if type(text) == "number" then
		stop("page id")
	elseif type(text) == "table" then
		return text
	elseif type(text) ~= "string" then
		return nil
	end
	if namespace and type(namespace) ~= "number" then
		local known = mw.site.namespaces[namespace]
		if not known then
			error("bad argument #2 to 'title.new' (unrecognized namespace name)", 2)
		end
		namespace = known.id
	end
	local id, name, fragment, interwiki = unpack(ask("title", text, namespace or 0))
	if not id then
		return nil
	end
	return make(id, name, fragment, interwiki)
end

function title.makeTitle(namespace, text, fragment, interwiki)
	local known = mw.site.namespaces[namespace]
	if not known or interwiki and interwiki ~= "" then
		return nil
	end
	local id, name = unpack(ask("title", known.id == 0 and text or known.name .. ":" .. text, 0))
	if id ~= known.id then
		return nil
	end
	return make(id, name, fragment)
end

function title.getCurrentTitle()
	local name = ask("page")
	local id, text = unpack(ask("title", name, 0))
	return make(id or 0, text or name)
end

function title.equals(a, b)
	return a.interwiki == b.interwiki and a.namespace == b.namespace and a.text == b.text
end

function title.compare(a, b)
	if a.interwiki ~= b.interwiki then
		return a.interwiki < b.interwiki and -1 or 1
	elseif a.namespace ~= b.namespace then
		return a.namespace < b.namespace and -1 or 1
	elseif a.text ~= b.text then
		return a.text < b.text and -1 or 1
	end
	return 0
end

function computed.nsText(t)
	return mw.site.namespaces[t.namespace].name
end

function computed.subjectNsText(t)
	return mw.site.namespaces[t.namespace].subject.name
end

function computed.talkNsText(t)
	local talk = mw.site.namespaces[t.namespace].talk
	return talk and talk.name or ""
end

function computed.prefixedText(t)
	local prefix = t.nsText
	local shown = prefix ~= "" and prefix .. ":" .. t.text or t.text
	return t.interwiki ~= "" and t.interwiki .. ":" .. shown or shown
end

function computed.fullText(t)
	return t.fragment ~= "" and t.prefixedText .. "#" .. t.fragment or t.prefixedText
end

function computed.baseText(t)
	return parts(t) and match(t.text, "^(.*)/") or t.text
end

function computed.rootText(t)
	return parts(t) and match(t.text, "^([^/]*)") or t.text
end

function computed.subpageText(t)
	return parts(t) and match(t.text, "([^/]*)$") or t.text
end

function computed.isSubpage(t)
	return parts(t) and find(t.text, "/", 1, true) ~= nil or false
end

function computed.isTalkPage(t)
	return mw.site.namespaces[t.namespace].isTalk
end

function computed.isContentPage(t)
	return mw.site.namespaces[t.namespace].isContent
end

function computed.isSpecialPage(t)
	return t.namespace == -1
end

function computed.isExternal(t)
	return t.interwiki ~= ""
end

function computed.isLocal(t)
	return true
end

function computed.canTalk(t)
	return mw.site.namespaces[t.namespace].talk ~= nil
end

function computed.basePageTitle(t)
	return make(t.namespace, t.baseText)
end

function computed.rootPageTitle(t)
	return make(t.namespace, t.rootText)
end

function computed.talkPageTitle(t)
	local talk = mw.site.namespaces[t.namespace].talk
	return talk and make(talk.id, t.text)
end

function computed.subjectPageTitle(t)
	return make(mw.site.namespaces[t.namespace].subject.id, t.text)
end

function computed.contentModel(t)
	return t.namespace == 828 and "Scribunto" or "wikitext"
end

function computed.exists(t)
	local known = ask("exists", t.namespace, t.text)
	if known == "" then
		stop("exists")
	end
	return known == "1"
end

function computed.protectionLevels()
	return {}
end
computed.cascadingProtection = function()
	return {restrictions = {}, sources = {}}
end

function computed.pageLang()
	return mw.language.getContentLanguage()
end

-- What only the wiki's database knows.
for _, name in ipairs({"id", "isRedirect", "file", "fileExists", "redirectTarget", "categories", "content"}) do
	computed[name] = function()
		stop(name)
	end
end

function methods:isSubpageOf(other)
	return self.namespace == other.namespace and self.interwiki == other.interwiki
		and string.sub(self.text, 1, #other.text + 1) == other.text .. "/"
end

local function id_of(namespace)
	local known = mw.site.namespaces[namespace]
	return known and known.id
end

function methods:inNamespace(namespace)
	return self.namespace == id_of(namespace)
end

function methods:inNamespaces(...)
	for _, namespace in ipairs({...}) do
		if self.namespace == id_of(namespace) then
			return true
		end
	end
	return false
end

function methods:hasSubjectNamespace(namespace)
	return mw.site.namespaces[self.namespace].subject.id == id_of(namespace)
end

function methods:subPageTitle(text)
	return title.makeTitle(self.namespace, self.text .. "/" .. text)
end

function methods:partialUrl()
	return mw.uri.encode(self.text, "WIKI")
end

function methods:fullUrl(query, protocol)
	return mw.uri.fullUrl(self.fullText, query)
end

function methods:localUrl(query)
	return mw.uri.localUrl(self.fullText, query)
end

function methods:canonicalUrl(query)
	return mw.uri.canonicalUrl(self.fullText, query)
end

function methods:getContent()
	stop("content")
end

return title
