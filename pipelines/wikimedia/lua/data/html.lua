-- mw.html: https://www.mediawiki.org/wiki/Extension:Scribunto/Lua_reference_manual#HTML_library

local services = ...
local mw, tostring, pairs = services.mw, services.tostring, services.pairs
local concat, type, setmetatable, ipairs = table.concat, type, setmetatable, ipairs
local html = {}
local methods = {}
local meta = {__index = methods}
local EMPTY = {}
for name in string.gmatch("area base br col command embed hr img input keygen link meta param source track wbr", "%S+") do
	EMPTY[name] = true
end

local function escape(value)
	value = tostring(value)
	services.charge(#value / 4)
	return (string.gsub(value, '[<>&"]', {["<"] = "&lt;", [">"] = "&gt;", ["&"] = "&amp;", ['"'] = "&quot;"}))
end

function html.create(name, options)
	return setmetatable({
		tag_name = name, nodes = {}, attributes = {}, attribute_names = {}, styles = {},
		closes_itself = EMPTY[name] or options and options.selfClosing or false,
	}, meta)
end

function meta.__tostring(node)
	local shown = {}
	local function show(one)
		if one.tag_name then
			shown[#shown + 1] = "<" .. one.tag_name
			for _, name in ipairs(one.attribute_names) do
				if one.attributes[name] ~= nil then
					shown[#shown + 1] = " " .. name .. '="' .. escape(one.attributes[name]) .. '"'
				end
			end
			if #one.styles > 0 then
				shown[#shown + 1] = ' style="' .. escape(concat(one.styles, ";")) .. '"'
			end
			if one.closes_itself then
				shown[#shown + 1] = " />"
				return
			end
			shown[#shown + 1] = ">"
		end
		for _, inner in ipairs(one.nodes) do
			if type(inner) == "table" then
				show(inner)
			else
				shown[#shown + 1] = inner
			end
		end
		if one.tag_name then
			shown[#shown + 1] = "</" .. one.tag_name .. ">"
		end
	end
	show(node)
	return concat(shown)
end

function meta.__concat(a, b)
	return tostring(a) .. tostring(b)
end

function methods:node(builder)
	if builder ~= nil then
		self.nodes[#self.nodes + 1] = type(builder) == "table" and builder.nodes and builder or tostring(builder)
	end
	return self
end

function methods:wikitext(...)
	for index = 1, select("#", ...) do
		local value = select(index, ...)
		if value == nil then
			break
		end
		self.nodes[#self.nodes + 1] = tostring(value)
	end
	return self
end

function methods:newline()
	self.nodes[#self.nodes + 1] = "\n"
	return self
end

function methods:tag(name, options)
	if type(name) == "table" then
		name, options = name.name, name
	end
	local made = html.create(name, options)
	made.parent = self
	self.nodes[#self.nodes + 1] = made
	return made
end

function methods:attr(name, value)
	if type(name) == "table" then
		local names = {}
		for key in pairs(name) do
			names[#names + 1] = key
		end
		table.sort(names)
		for _, key in ipairs(names) do
			self:attr(key, name[key])
		end
		return self
	end
	if name == "style" then
		self.styles = value and {tostring(value)} or {}
		return self
	end
	if self.attributes[name] == nil then
		self.attribute_names[#self.attribute_names + 1] = name
	end
	self.attributes[name] = value
	return self
end

function methods:getAttr(name)
	return self.attributes[name]
end

function methods:addClass(class)
	if class ~= nil and class ~= "" then
		local before = self.attributes.class
		self:attr("class", before and before .. " " .. tostring(class) or tostring(class))
	end
	return self
end

function methods:css(name, value)
	if type(name) == "table" then
		local names = {}
		for key in pairs(name) do
			names[#names + 1] = key
		end
		table.sort(names)
		for _, key in ipairs(names) do
			self:css(key, name[key])
		end
	elseif value ~= nil then
		self.styles[#self.styles + 1] = name .. ":" .. tostring(value)
	end
	return self
end

function methods:cssText(text)
	if text ~= nil then
		self.styles[#self.styles + 1] = (string.gsub(tostring(text), ";%s*$", ""))
	end
	return self
end

function methods:done()
	return self.parent or self
end

function methods:allDone()
	local node = self
	while node.parent do
		node = node.parent
	end
	return node
end

return html
