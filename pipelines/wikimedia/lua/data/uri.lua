-- mw.uri: https://www.mediawiki.org/wiki/Extension:Scribunto/Lua_reference_manual#URI_library

local services = ...
local ask, mw, tostring, site = services.ask, services.mw, services.tostring, services.site
local uri = {}
local gsub, format = services.env.string.gsub, string.format
local type = type

local function percent(sign)
	return format("%%%02X", sign:byte())
end

function uri.encode(text, kind)
	text = tostring(text)
	if kind == "PATH" then
		return (gsub(text, "[^%w%-._~]", percent))
	elseif kind == "WIKI" then
		text = gsub(text, " ", "_")
		return (gsub(text, "[^%w%-._~!$()*,;:@/]", percent))
	end
	return (gsub(gsub(text, "[^%w%-._ ]", percent), " ", "+"))
end

function uri.decode(text, kind)
	text = tostring(text)
	if kind == "WIKI" then
		text = gsub(text, "_", " ")
	elseif kind ~= "PATH" then
		text = gsub(text, "+", " ")
	end
	return (gsub(text, "%%(%x%x)", function(digits)
		return string.char(tonumber(digits, 16))
	end))
end

function uri.anchorEncode(text)
	return (gsub(gsub(tostring(text), "^%s+", ""), "%s", "_"))
end

function uri.buildQueryString(query)
	local names, shown = {}, {}
	for name in services.pairs(query) do
		names[#names + 1] = name
	end
	table.sort(names)
	for index, name in ipairs(names) do
		shown[index] = uri.encode(name) .. "=" .. uri.encode(query[name])
	end
	return table.concat(shown, "&")
end

-- An address is seen only where a link shows it as text.
local function address(start)
	return function(page, query)
		local shown = start .. uri.encode(page, "WIKI")
		if query and query ~= "" then
			shown = shown .. "?" .. (type(query) == "table" and uri.buildQueryString(query) or query)
		end
		return uri.new(shown)
	end
end

uri.localUrl = address("/wiki/")
uri.fullUrl = address(site.server .. "/wiki/")
uri.canonicalUrl = address("https:" .. site.server .. "/wiki/")

local meta = {__tostring = function(u)
	return u.address
end, __concat = function(a, b)
	return tostring(a) .. tostring(b)
end}

function uri.new(text)
	return setmetatable({address = text}, meta)
end

function uri.validate()
	return true
end

return uri
