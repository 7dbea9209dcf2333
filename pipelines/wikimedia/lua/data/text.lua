-- mw.text: https://www.mediawiki.org/wiki/Extension:Scribunto/Lua_reference_manual#Text_library

local services = ...
local ask, mw, pairs, tostring, next = services.ask, services.mw, services.pairs, services.tostring, services.next
local find, sub, gsub, match = string.find, string.sub, services.env.string.gsub, string.match
local concat, error, type, ipairs = table.concat, error, type, ipairs
local charge = services.charge
local text = {}
local ENTITIES = {["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#039;", ["\194\160"] = "&nbsp;"}

function text.trim(value, charset)
	value = tostring(value)
	if charset then
		value = mw.ustring.gsub(value, "^[" .. charset .. "]+", "")
		return (mw.ustring.gsub(value, "[" .. charset .. "]+$", ""))
	end
	charge(#value / 2)
	local first = find(value, "[^\t\r\n\f ]")
	if not first then
		return ""
	end
	local last = #value
	while find(value, "^[\t\r\n\f ]", last) do
		last = last - 1
	end
	return sub(value, first, last)
end

function text.encode(value, charset)
	return (mw.ustring.gsub(tostring(value), charset and "[" .. charset .. "]" or "[<>&\"'\194\160]", function(sign)
		return ENTITIES[sign] or "&#" .. mw.ustring.codepoint(sign) .. ";"
	end))
end

function text.decode(value, named)
	value = tostring(value)
	if not find(value, "&", 1, true) then
		return value
	end
	return ask("decode", value, named and "1" or "")
end

function text.nowiki(value)
	return ask("nowiki", tostring(value))
end

function text.killMarkers(value)
	return value
end
text.unstrip, text.unstripNoWiki = text.killMarkers, text.killMarkers

function text.tag(name, attributes, content)
	if type(name) == "table" then
		name, attributes, content = name.name, name.attrs, name.content
	end
	local shown = {"<", name}
	local names = {}
	for attribute in pairs(attributes or {}) do
		names[#names + 1] = attribute
	end
	table.sort(names)
	for _, attribute in ipairs(names) do
		local value = attributes[attribute]
		if value == true then
			shown[#shown + 1] = " " .. attribute
		elseif value then
			shown[#shown + 1] = " " .. attribute .. '="' .. text.encode(value) .. '"'
		end
	end
	if content == false then
		shown[#shown + 1] = ">"
	elseif content == nil then
		shown[#shown + 1] = " />"
	else
		shown[#shown + 1] = ">" .. tostring(content) .. "</" .. name .. ">"
	end
	return concat(shown)
end

function text.gsplit(value, pattern, plain)
	value = tostring(value)
	local position, length = 1, mw.ustring.len(value)
	return function()
		if not position then
			return nil
		end
		local first, last
		if position <= length + 1 then
			first, last = mw.ustring.find(value, pattern, position, plain)
		end
		local piece
		if not first then
			piece = mw.ustring.sub(value, position)
			position = nil
		elseif last < first then
			-- An empty match separates two characters.
			piece = mw.ustring.sub(value, position, first)
			position = first < length and first + 1 or nil
		else
			piece = mw.ustring.sub(value, position, first - 1)
			position = last + 1
		end
		return piece
	end
end

function text.split(value, pattern, plain)
	local pieces = {}
	for piece in text.gsplit(value, pattern, plain) do
		pieces[#pieces + 1] = piece
	end
	return pieces
end

function text.listToText(list, separator, conjunction)
	separator = separator or mw.message.new("comma-separator"):plain()
	conjunction = conjunction or mw.message.new("and"):plain() .. mw.message.new("word-separator"):plain()
	local count = #list
	if count > 1 then
		return concat(list, separator, 1, count - 1) .. conjunction .. list[count]
	end
	return tostring(list[1] or "")
end

function text.truncate(value, length, ellipsis, adjust)
	ellipsis = ellipsis or mw.message.new("ellipsis"):plain()
	local size = mw.ustring.len(value)
	if size <= (length < 0 and -length or length) then
		return value
	end
	local room = length
	if adjust then
		local marks = mw.ustring.len(ellipsis)
		room = length < 0 and length + marks or length - marks
	end
	if room < 0 then
		return ellipsis .. mw.ustring.sub(value, room)
	end
	return mw.ustring.sub(value, 1, room) .. ellipsis
end

text.JSON_PRESERVE_KEYS, text.JSON_TRY_FIXING, text.JSON_PRETTY = 1, 2, 4

local function json(value, depth)
	if depth > 100 then
		error("mw.text.jsonEncode: too deep", 0)
	elseif type(value) == "table" then
		local count, is_list = 0, true
		local names = {}
		for key in pairs(value) do
			count = count + 1
			names[count] = key
		end
		for index = 1, count do
			is_list = is_list and value[index] ~= nil
		end
		local shown = {}
		if is_list then
			for index = 1, count do
				shown[index] = json(value[index], depth + 1)
			end
			return "[" .. concat(shown, ",") .. "]"
		end
		table.sort(names, function(a, b)
			return tostring(a) < tostring(b)
		end)
		for index, key in ipairs(names) do
			shown[index] = ask("json_text", tostring(key)) .. ":" .. json(value[key], depth + 1)
		end
		return "{" .. concat(shown, ",") .. "}"
	elseif type(value) == "string" then
		return ask("json_text", value)
	elseif value == nil then
		return "null"
	end
	return tostring(value)
end

function text.jsonEncode(value)
	return json(value, 0)
end

function text.jsonDecode(value)
	charge(#tostring(value) * 4)
	local made = ask("json_table", value)
	if made == nil then
		error("mw.text.jsonDecode: no JSON", 0)
	end
	return made
end

return text
