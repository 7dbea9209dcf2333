-- mw.site: https://www.mediawiki.org/wiki/Extension:Scribunto/Lua_reference_manual#Site_library

local services = ...
local charge, stop, facts, next = services.charge, services.stop, services.site, services.next
local type, setmetatable = type, setmetatable
local site = {
	siteName = facts.name, server = facts.server, scriptPath = "/w", stylePath = "/w/skins", currentVersion = "1.45.0",
	namespaces = {}, contentNamespaces = {}, subjectNamespaces = {}, talkNamespaces = {},
	stats = setmetatable({}, {__index = function()
		stop("statistics")
	end}),
}

function site.interwikiMap()
	stop("interwiki")
end

do
	local by_name = {}
	for _, entry in ipairs(facts.namespaces) do
		local id = entry.id
		local namespace = {
			id = id, name = entry.name, canonicalName = entry.canonical, displayName = id == 0 and "(Main)" or entry.name,
			hasSubpages = id ~= 0 and id ~= 6 and id ~= 14 and id >= 0, hasGenderDistinction = id == 2 or id == 3,
			isCapitalized = true, isContent = id == 0, isIncludable = true, isMovable = id >= 0,
			isSubject = id >= 0 and id % 2 == 0 or id < 0, isTalk = id >= 0 and id % 2 == 1, aliases = {},
			defaultContentModel = id == 828 and "Scribunto" or nil,
		}
		site.namespaces[id] = namespace
		by_name[string.lower(entry.name)] = namespace
		if entry.canonical then
			by_name[string.lower(entry.canonical)] = by_name[string.lower(entry.canonical)] or namespace
		end
		if namespace.isTalk then
			site.talkNamespaces[id] = namespace
		else
			site.subjectNamespaces[id] = namespace
		end
		if namespace.isContent then
			site.contentNamespaces[id] = namespace
		end
	end
	for id, namespace in next, site.namespaces do
		if id >= 0 then
			namespace.subject = site.namespaces[id - id % 2]
			namespace.talk = site.namespaces[id - id % 2 + 1]
			namespace.associated = namespace.isTalk and namespace.subject or namespace.talk
		else
			namespace.subject = namespace
		end
	end
	setmetatable(site.namespaces, {__index = function(_, name)
		if type(name) == "string" then
			charge(#name / 4)
			return by_name[string.lower((string.gsub(name, "_", " ")))]
		end
	end})
end

return site
