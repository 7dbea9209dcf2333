-- mw.ustring: the library `string` for characters. Texts of ASCII are read by `string`, which does the same.

local services = ...
local ask, charge, matcher, env = services.ask, services.charge, services.matcher, services.env
local find, len, sub = string.find, string.len, string.sub
local strings, text_of = env.string, matcher.text_of
local error, type, tostring, tonumber, select = error, type, tostring, tonumber, select
local ustring = {maxPatternLength = 10000, maxStringLength = 2097152}

local function is_ascii(text)
	charge(#text / 8)
	return not find(text, "[\128-\255]")
end

local unicode = matcher.make(function(text)
	local both = ask("codes", text)
	charge(#text)
	return both[1], #both[1], both[2]
end, "u")

function ustring.len(text)
	text = text_of(text, "len")
	if is_ascii(text) then
		return #text
	end
	charge(#text)
	return select(2, string.gsub(text, "[^\128-\191]", ""))
end

function ustring.sub(text, first, last)
	text = text_of(text, "sub")
	if is_ascii(text) then
		return sub(text, first or 1, last or -1)
	end
	return ask("sub", text, first or 1, last or -1)
end

for _, name in ipairs({"lower", "upper", "toNFC", "toNFD", "toNFKC", "toNFKD"}) do
	local plain = string[name]
	ustring[name] = function(text)
		text = text_of(text, name)
		if is_ascii(text) then
			return plain and plain(text) or text
		end
		return ask(name, text)
	end
end

function ustring.char(...)
	return ask("char", ...)
end

function ustring.codepoint(text, first, last)
	text = text_of(text, "codepoint")
	first = first or 1
	if is_ascii(text) then
		return string.byte(text, first, last or first)
	end
	return unpack(ask("codes", ustring.sub(text, first, last or first))[1])
end

function ustring.gcodepoint(text, first, last)
	local codes = ask("codes", ustring.sub(text, first or 1, last or -1))[1]
	local index = 0
	return function()
		index = index + 1
		return codes[index]
	end
end

function ustring.isutf8(text)
	return ask("isutf8", text) == "1"
end

function ustring.byteoffset(text, position, start)
	local starts = ask("codes", text)[2]
	return starts[(position or 1) + (start or 1) - 1]
end

function ustring.find(text, pattern, init, plain)
	text, pattern = text_of(text, "find"), text_of(pattern, "find")
	if is_ascii(text) and is_ascii(pattern) then
		return strings.find(text, pattern, init, plain)
	end
	if plain then
		return unpack(ask("find", text, pattern, init or 1))
	end
	return unicode.search(text, pattern, init, true)
end

function ustring.match(text, pattern, init)
	text, pattern = text_of(text, "match"), text_of(pattern, "match")
	if is_ascii(text) and is_ascii(pattern) then
		return strings.match(text, pattern, init)
	end
	return unicode.search(text, pattern, init, false)
end

function ustring.gmatch(text, pattern)
	text, pattern = text_of(text, "gmatch"), text_of(pattern, "gmatch")
	if is_ascii(text) and is_ascii(pattern) then
		return strings.gmatch(text, pattern)
	end
	return unicode.each(text, pattern)
end

function ustring.gsub(text, pattern, replacement, maximum)
	text, pattern = text_of(text, "gsub"), text_of(pattern, "gsub")
	if is_ascii(text) and is_ascii(pattern) then
		return strings.gsub(text, pattern, replacement, maximum)
	end
	return unicode.replace(text, pattern, replacement, maximum)
end

ustring.byte, ustring.format, ustring.rep = strings.byte, strings.format, strings.rep

return ustring
