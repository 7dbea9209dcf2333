-- Runs functions of a wiki's modules: `invoke` is called by Python (`child.py`). What a module can reach is a table of
-- its own for each call, so that no call can change what another one shows.
--
-- Limits are counted: instructions of Lua by a hook, the work of functions in C by `charge`. The garbage collector is
-- off while a module runs, so memory is all that it ever allocates.

local host = ...
local as_function = python.as_function
local ask, load_chunk, load_library = as_function(host.ask), as_function(host.load_chunk), as_function(host.load_library)
local plans, sets, programs = {}, {}, {}
setmetatable(plans, {__index = as_function(host.plan)})
setmetatable(programs, {__index = as_function(host.program)})
host.caches(plans, programs)
python = nil

local debug_sethook, debug_getmetatable = debug.sethook, debug.getmetatable
local error, pcall, type, next, rawget, rawset, select = error, pcall, type, next, rawget, rawset, select
local setmetatable, setfenv, tostring, unpack = setmetatable, setfenv, tostring, unpack
local raw_ipairs, memory, find = ipairs, collectgarbage, string.find
local MEMORY = "not enough memory"
local STEP, soft_memory = 1000, host.soft_memory
local used, limit, stopped = 0, 0, nil
-- Instructions of Lua of the call, without what functions in C are charged.
local steps = 0

local function fail()
	error(stopped, 0)
end

-- End the call: from here on every instruction fails, so no pcall of a module goes on.
local function stop(reason)
	stopped = stopped or reason
	debug_sethook(fail, "", 1)
	error(stopped, 0)
end

local function count()
	used, steps = used + STEP, steps + STEP
	if used > limit then
		stop("instructions")
	end
	-- Before the allocator refuses: after that nothing is sure to work.
	if memory("count") > soft_memory then
		stop(MEMORY)
	end
end

-- Count work that a function in C does, in instructions.
local function charge(amount)
	used = used + amount
	if used > limit then
		stop("instructions")
	end
end

local function checked(ok, ...)
	if not ok then
		local message = ...
		if stopped or message == MEMORY or type(message) == "userdata" then
			stop(message == MEMORY and MEMORY or "fault")
		end
		-- Near the end of a stack the hook cannot count.
		if type(message) == "string" and (find(message, "stack overflow", 1, true) or find(message, "error handling", 1, true)) then
			stop("depth")
		end
	end
	return ok, ...
end

local raw_ask = ask
-- Questions whose answers depend on the call, and whether one was asked.
local OF_CALL = {page = true, exists = true, preprocess = true, template = true, ["function"] = true, styles = true}
local of_call = false

-- A question to Python takes as long as so many instructions, and more for long texts.
function ask(...)
	local length = 1000
	of_call = of_call or OF_CALL[(...)] or false
	for index = 1, select("#", ...) do
		local value = select(index, ...)
		if type(value) == "string" then
			length = length + #value
		end
	end
	charge(length / 2)
	return raw_ask(...)
end

local base = {}

function base.pcall(f, ...)
	return checked(pcall(f, ...))
end

function base.xpcall(f, handler)
	local function handled(ok, ...)
		if ok then
			return true, ...
		end
		return false, handler(...)
	end
	return handled(checked(pcall(f)))
end

-- To begin a table that was large and is empty takes as long as it was large, which is less than the instructions
-- before. A table may be begun a few times without that being charged.
local FEW, SLOTS = 32, 256
local begun = {}

local function counted_next(t, key)
	local following, value = next(t, key)
	if key == nil then
		local times = (begun[t] or 0) + 1
		begun[t] = times
		if times > FEW then
			charge(steps / SLOTS)
		end
	end
	return following, value
end

-- The order of tables and functions as keys depends on their addresses.
local UNORDERED = {table = true, ["function"] = true, userdata = true}

function base.next(t, key)
	local following, value
	if key == nil then
		following, value = counted_next(t)
	else
		following, value = next(t, key)
	end
	if UNORDERED[type(following)] then
		stop("order")
	end
	return following, value
end

function base.pairs(t)
	local meta = debug_getmetatable(t)
	local own = meta and rawget(meta, "__pairs")
	if own then
		return own(t)
	end
	if type(t) ~= "table" then
		error("bad argument #1 to 'pairs' (table expected, got " .. type(t) .. ")", 2)
	end
	return base.next, t, nil
end

function base.ipairs(t)
	local meta = debug_getmetatable(t)
	local own = meta and rawget(meta, "__ipairs")
	if own then
		return own(t)
	end
	return raw_ipairs(t)
end

-- Addresses are not shown.
function base.tostring(value)
	local kind = type(value)
	if kind == "table" or kind == "function" then
		local meta = debug_getmetatable(value)
		if not (meta and rawget(meta, "__tostring")) then
			return kind
		end
	end
	return tostring(value)
end

function base.unpack(list, first, last)
	charge(((last or #list) - (first or 1)) / 8)
	return unpack(list, first, last)
end

function base.select(position, ...)
	charge(select("#", ...) / 8)
	return select(position, ...)
end

function base.tonumber(value, ...)
	if type(value) == "string" then
		charge(#value / 4)
	end
	return tonumber(value, ...)
end

base._VERSION, base.assert, base.error, base.getmetatable = _VERSION, assert, error, getmetatable
base.rawequal, base.rawget, base.rawset = rawequal, rawget, rawset
base.setmetatable, base.type = setmetatable, type

local tables = {}
local maxn = table.maxn
local concat, insert, remove, sort = table.concat, table.insert, table.remove, table.sort

function tables.maxn(t)
	charge(steps / 16)
	return maxn(t)
end

function tables.concat(list, ...)
	local text = concat(list, ...)
	charge(#text / 64)
	return text
end

function tables.insert(list, ...)
	if select("#", ...) > 1 then
		charge(#list / 8)
	end
	return insert(list, ...)
end

function tables.remove(list, position)
	if position then
		charge(#list / 8)
		return remove(list, position)
	end
	return remove(list)
end

function tables.sort(list, before)
	charge(#list * 8)
	return sort(list, before)
end

local maths = {}
for name, value in next, math do
	if name ~= "random" and name ~= "randomseed" then
		maths[name] = value
	end
end

local services = {
	ask = ask, charge = charge, stop = stop, plans = plans, programs = programs, pairs = base.pairs, next = counted_next,
	tostring = base.tostring, site = host.site, metatable = debug_getmetatable, load_library = load_library,
}
local strings
strings, services.matcher = load_library("strings")(services)
do
	-- "text":method() finds functions here; modules cannot reach the table.
	local meta = getmetatable("")
	meta.__index, meta.__metatable = strings, false
end

local function copy(t)
	local copied = {}
	for name, value in next, t do
		copied[name] = value
	end
	return copied
end

-- Tables of mw.loadData, as modules returned them, by title. They are made with a budget of their own.
local data, data_level = {}, 0
local level = 0
local environment

local function date(...)
	local shown = ask("date", ...)
	return shown or stop("date")
end

local function run_module(title, env)
	local chunk = load_chunk(title, level)
	if type(chunk) ~= "function" then
		error(chunk or ("module '" .. title .. "' not found"), 0)
	end
	setfenv(chunk, env)
	return chunk()
end

local function load_data(title)
	local kept = data[title]
	if kept == nil then
		local outer, outer_limit, outer_of_call = used, limit, of_call
		used, limit, of_call = 0, host.limit, false
		level = level + 1
		local ok, made = pcall(run_module, title, environment())
		level = level - 1
		if stopped then
			stop(stopped)
		end
		local work = used
		used, limit = outer, outer_limit
		kept = (ok and type(made) == "table") and made or false
		if not ok and made == MEMORY then
			stop(MEMORY)
		end
		if of_call then
			-- Each call makes it again.
			charge(work)
		else
			data[title] = kept
		end
		of_call = of_call or outer_of_call
	end
	charge(STEP)
	return kept or error("mw.loadData: no data in " .. title, 0)
end

function environment()
	local env = copy(base)
	env._G = env
	env.string, env.table, env.math = copy(strings), copy(tables), copy(maths)
	env.os = {
		clock = function()
			return 0
		end,
		date = date,
		time = function(when)
			local parts = when or {}
			return tonumber(ask("clock", parts.year, parts.month, parts.day, parts.hour, parts.min, parts.sec) or stop("date"))
		end,
		difftime = function(later, earlier)
			return later - earlier
		end,
	}
	env.debug = {traceback = function(message)
		return message or ""
	end}
	local loaded = {}
	env.package = {loaded = loaded, loaders = {}, preload = {}}
	local mw = load_library("mw")(copy(services), env, load_data)
	env.mw = mw
	function env.require(name)
		local known = loaded[name]
		if known ~= nil then
			return known
		end
		local library = mw.libraries[name]
		local value
		if library then
			value = library()
		else
			value = run_module(name, env)
		end
		if value == nil then
			value = true
		end
		loaded[name] = value
		return value
	end
	return env
end

local function call(title, name, frame, parent)
	local env = environment()
	local first = env.mw.first_frame(frame, parent)
	local module = run_module(title, env)
	if type(module) ~= "table" then
		error("no table", 0)
	end
	local f = module[name]
	if type(f) ~= "function" then
		error("no function", 0)
	end
	local shown = {f(first)}
	-- As MediaWiki does, all values that are returned make the text.
	local texts = {}
	for index = 1, maxn(shown) do
		local value = shown[index]
		texts[index] = value == nil and "" or base.tostring(value)
	end
	return concat(texts)
end

-- Returns whether the call succeeded, its text or why not, and the instructions that it took.
-- A call within a call (frame:preprocess) goes on counting.
local function invoke(budget, title, name, frame, parent)
	level = level + 1
	local outermost = level == 1
	if outermost then
		used, limit, stopped, steps, begun = 0, budget, nil, 0, {}
		debug_sethook(count, "", STEP)
	end
	local ok, text = pcall(call, title, name, frame, parent)
	level = level - 1
	if outermost then
		debug_sethook()
	end
	if not ok and type(text) ~= "string" then
		text = "error"
	end
	return ok, text, used
end

-- After a limit: the hook would end this function too, so Python takes it off first.
local function reset()
	level = 0
	local why = stopped
	return why, used
end

return invoke, reset, debug_sethook
