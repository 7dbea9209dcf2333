-- The library `mw` of one call: https://www.mediawiki.org/wiki/Extension:Scribunto/Lua_reference_manual
--
-- Other libraries are made when they are first used.

local services, env, load_data = ...
local load_library = services.load_library
local ask, charge = services.ask, services.charge
local next, tostring, pairs = services.next, services.tostring, services.pairs
local error, type, tonumber, rawget, select, setmetatable = error, type, tonumber, rawget, select, setmetatable
local floor = math.floor

local mw = {}
services.mw, services.env = mw, env

-- Values as text, for a question to Python: numbered arguments first, then the others in their order.
local function flat(arguments)
	local list = {}
	if arguments then
		local names = {}
		for name, value in pairs(arguments) do
			local number = type(name) == "number"
			names[#names + 1] = {number and 0 or 1, number and name or tostring(name), name, value}
		end
		table.sort(names, function(a, b)
			if a[1] ~= b[1] then
				return a[1] < b[1]
			end
			return a[2] < b[2]
		end)
		for _, entry in ipairs(names) do
			local value = entry[4]
			if value == true then
				value = "1"
			elseif value == false then
				value = ""
			end
			if type(value) == "string" or type(value) == "number" then
				list[#list + 1] = tostring(entry[3])
				list[#list + 1] = tostring(value)
			end
		end
	end
	return list
end

local frame_methods = {}
local current

-- The arguments of a frame: a table without entries, so that their order is that of the call.
local function arguments_of(list)
	local values, names = {}, {}
	for index = 1, #list, 2 do
		local name = list[index]
		if string.match(name, "^[1-9]%d*$") and #name < 15 then
			name = tonumber(name)
		end
		if values[name] == nil then
			names[#names + 1] = name
		end
		values[name] = list[index + 1]
	end
	local function each()
		local index = 0
		return function()
			while true do
				index = index + 1
				local name = names[index]
				if name == nil then
					return nil
				end
				if values[name] ~= nil then
					return name, values[name]
				end
			end
		end
	end
	return setmetatable({}, {
		__index = values,
		__pairs = function(t)
			local own
			local following = each()
			return function()
				if not own then
					local name, value = following()
					if name ~= nil then
						return name, rawget(t, name) == nil and value or rawget(t, name)
					end
					own = {}
					for key, value2 in next, t do
						if values[key] == nil then
							own[#own + 1] = key
						end
					end
				end
				local key = table.remove(own)
				if key ~= nil then
					return key, rawget(t, key)
				end
			end
		end,
		__ipairs = function(t)
			return function(_, index)
				index = index + 1
				if t[index] ~= nil then
					return index, t[index]
				end
			end, t, 0
		end,
	})
end

local function new_frame(list, title, parent)
	return setmetatable({args = arguments_of(list)}, {__index = function(_, name)
		local method = frame_methods[name]
		if method then
			return function(self, ...)
				return method({list = list, title = title, parent = parent, frame = self}, ...)
			end
		end
	end})
end

function frame_methods.getParent(info)
	return info.parent
end

function frame_methods.getTitle(info)
	return info.title
end

function frame_methods.getArgument(info, name)
	if type(name) == "table" then
		name = name.name
	end
	local value = info.frame.args[name]
	if value ~= nil then
		return {expand = function()
			return value
		end}
	end
end

function frame_methods.preprocess(info, text)
	if type(text) == "table" then
		text = text.text
	end
	text = tostring(text)
	charge(#text / 8)
	if not string.find(text, "[{<]") then
		return text
	end
	if string.find(text, "{{{", 1, true) then
		return ask("preprocess", text, unpack(info.list))
	end
	return ask("preprocess", text)
end

function frame_methods.expandTemplate(info, options)
	local title = options.title
	if type(title) == "table" then
		title = title.prefixedText
	end
	return ask("template", tostring(title), unpack(flat(options.args)))
end

function frame_methods.callParserFunction(info, name, ...)
	local arguments
	if type(name) == "table" then
		name, arguments = name.name, name.args
	elseif type((...)) == "table" then
		arguments = ...
	else
		arguments = {...}
	end
	if type(arguments) ~= "table" then
		arguments = {arguments}
	end
	return ask("function", tostring(name), unpack(flat(arguments)))
end

function frame_methods.extensionTag(info, name, content, attributes)
	if type(name) == "table" then
		name, content, attributes = name.name, name.content, name.args
	end
	if name == "templatestyles" then
		return ask("styles", tostring(attributes and attributes.src or ""))
	end
	return ask("function", "#tag", "1", tostring(name), "2", content and tostring(content) or "")
end

function frame_methods.newChild(info, options)
	return new_frame(flat(options.args), options.title or info.title, info.frame)
end

local function value_of(expanded)
	return {expand = function()
		return expanded()
	end}
end

function frame_methods.newParserValue(info, text)
	return value_of(function()
		return info.frame:preprocess(text)
	end)
end

function frame_methods.newTemplateParserValue(info, options)
	return value_of(function()
		return info.frame:expandTemplate(options)
	end)
end

function frame_methods.argumentPairs(info)
	return pairs(info.frame.args)
end

-- Python gives titles and arguments of the call and of the template that it stands in.
function mw.first_frame(frame, parent)
	mw.first_frame = nil
	local outer = parent and new_frame(parent[1], parent[0], nil) or nil
	current = new_frame(frame[1], frame[0], outer)
	return current
end

function mw.getCurrentFrame()
	return current
end

function mw.isSubsting()
	return false
end

function mw.incrementExpensiveFunctionCount() end

function mw.addWarning() end

function mw.log() end

function mw.logObject() end

function mw.dumpObject(value)
	return tostring(value)
end

function mw.allToString(...)
	local texts = {}
	for index = 1, select("#", ...) do
		texts[index] = tostring((select(index, ...)))
	end
	return table.concat(texts, "\t")
end

function mw.clone(value)
	local copies = {}
	local function copy(original)
		if type(original) ~= "table" then
			return original
		end
		if copies[original] then
			return copies[original]
		end
		local made = {}
		copies[original] = made
		for key, inner in next, original do
			made[copy(key)] = copy(inner)
		end
		local meta = services.metatable(original)
		return meta and setmetatable(made, meta) or made
	end
	return copy(value)
end

-- A view of a table that cannot be changed.
local function view(original, views)
	local known = views[original]
	if known then
		return known
	end
	local function shown(value)
		if type(value) == "table" then
			return view(value, views)
		end
		return value
	end
	local made = setmetatable({}, {
		__index = function(_, key)
			local value = original[key]
			if type(value) == "table" then
				return view(value, views)
			end
			return value
		end,
		__newindex = function()
			error("table from mw.loadData is read-only", 2)
		end,
		__pairs = function()
			return function(_, key)
				local following, value = next(original, key)
				return following, shown(value)
			end, original, nil
		end,
		__ipairs = function()
			return function(_, index)
				index = index + 1
				local value = original[index]
				if value ~= nil then
					return index, shown(value)
				end
			end, original, 0
		end,
		__metatable = false,
	})
	views[original] = made
	return made
end

local loaded = {}

function mw.loadData(title)
	local known = loaded[title]
	if not known then
		known = view(load_data(title), {})
		loaded[title] = known
	end
	return known
end

function mw.loadJsonData(title)
	return mw.text.jsonDecode(ask("source", title) or error("mw.loadJsonData: no page " .. tostring(title), 0))
end

local function check_type(name, position, value, expected, optional)
	if type(value) ~= expected and not (optional and value == nil) then
		error(("bad argument #%d to '%s' (%s expected, got %s)"):format(position, name, expected, type(value)), 3)
	end
end

-- What `require` finds besides modules.
mw.libraries = {
	strict = function()
		setmetatable(env, {
			__index = function(_, name)
				if name ~= "arg" then
					error("Tried to read nil global " .. tostring(name), 2)
				end
			end,
			__newindex = function(t, name, value)
				error("Tried to write global " .. tostring(name), 2)
			end,
		})
		return true
	end,
	libraryUtil = function()
		return {
			checkType = check_type,
			checkTypeMulti = function(name, position, value, expected)
				for _, one in ipairs(expected) do
					if type(value) == one then
						return
					end
				end
				error(("bad argument #%d to '%s' (%s expected, got %s)"):format(
					position, name, table.concat(expected, " or "), type(value)), 3)
			end,
			checkTypeForIndex = function(index, value, expected)
				if type(value) ~= expected then
					error(("value for index '%s' must be %s, %s given"):format(tostring(index), expected, type(value)), 3)
				end
			end,
			checkTypeForNamedArg = function(name, argument, value, expected, optional)
				if type(value) ~= expected and not (optional and value == nil) then
					error(("bad named argument %s to '%s' (%s expected, got %s)"):format(
						argument, name, expected, type(value)), 3)
				end
			end,
			makeCheckSelfFunction = function(library, variable, own)
				return function(self, method)
					if self ~= own then
						error(("%s: invalid %s object. Did you call %s with a dot instead of a colon?"):format(
							library, variable, method), 3)
					end
				end
			end,
		}
	end,
	ustring = function()
		return mw.ustring
	end,
	bit32 = function()
		services.stop("bit32")
	end,
}

-- A name such as mw.text is a library of its own.
local lazy = {site = true, text = true, ustring = true, title = true, language = true, html = true, uri = true, message = true}
setmetatable(mw, {__index = function(_, name)
	if lazy[name] then
		lazy[name] = nil
		local library = load_library(name)(services)
		rawset(mw, name, library)
		return library
	end
end})

-- Whether the page has an item, and what that says, is not known here.
mw.wikibase = setmetatable({}, {__index = function()
	return function()
		services.stop("wikibase")
	end
end})

function mw.getContentLanguage()
	return mw.language.getContentLanguage()
end

function mw.getLanguage(code)
	return mw.language.new(code)
end

mw.ext = {ParserFunctions = {expr = function(text)
	local value = ask("function", "#expr", "1", tostring(text))
	return tonumber(value) or value
end}}

return mw
