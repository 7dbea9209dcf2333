-- The library `string`, and a matcher of patterns whose steps are counted.
--
-- The functions of C backtrack without a limit. They are used where the product of the length of the text and the
-- quantifiers of the pattern is small; otherwise patterns are matched here, where each step is an instruction of Lua.

local services = ...
local ask, charge, plans, programs = services.ask, services.charge, services.plans, services.programs
local byte, char, find, format, gmatch, gsub = string.byte, string.char, string.find, string.format, string.gmatch, string.gsub
local len, lower, match, rep, reverse, sub, upper = string.len, string.lower, string.match, string.rep, string.reverse, string.sub, string.upper
local error, type, tostring, tonumber, unpack, floor, select = error, type, tostring, tonumber, unpack, math.floor, select
local SMALL = 65536

-- Whether C may match a pattern: the number of its quantifiers that can backtrack is in `plans`.
local function is_small(text, pattern)
	local cost = (#text) ^ plans[pattern]
	if cost <= SMALL then
		charge(cost / 16)
		return true
	end
	return false
end

-- The codes of a text, and where each one begins; the first is that of a code after the last.
local function bytes_of(text)
	local codes, n = {}, #text
	charge(n / 8)
	for start = 1, n, 4096 do
		local piece = {byte(text, start, start + 4095)}
		for index = 1, #piece do
			codes[start + index - 1] = piece[index]
		end
	end
	return codes, n, nil
end

-- Match from a position; return the position after the match, and the captures.
local function run(program, codes, n, init)
	local op, set, arg = program.op, program.set, program.arg
	local starts, ends = {}, {}
	local try

	function try(i, pc)
		while true do
			local o = op[pc]
			if o == 1 then -- one of a set
				if i > n or not set[pc][codes[i]] then
					return nil
				end
				i, pc = i + 1, pc + 1
			elseif o == 2 then -- as many as there are, then fewer
				local t, j = set[pc], i
				while j <= n and t[codes[j]] do
					j = j + 1
				end
				while j >= i do
					local result = try(j, pc + 1)
					if result then
						return result
					end
					j = j - 1
				end
				return nil
			elseif o == 3 then -- none, then more
				local t = set[pc]
				while true do
					local result = try(i, pc + 1)
					if result then
						return result
					end
					if i > n or not t[codes[i]] then
						return nil
					end
					i = i + 1
				end
			elseif o == 4 then -- one or none
				if i <= n and set[pc][codes[i]] then
					local result = try(i + 1, pc + 1)
					if result then
						return result
					end
				end
				pc = pc + 1
			elseif o == 5 then -- a capture begins
				local k = arg[pc]
				starts[k], ends[k] = i, nil
				local result = try(i, pc + 1)
				if not result then
					starts[k] = nil
				end
				return result
			elseif o == 6 then -- a capture ends
				local k = arg[pc]
				ends[k] = i
				local result = try(i, pc + 1)
				if not result then
					ends[k] = nil
				end
				return result
			elseif o == 7 then -- a position
				local k = arg[pc]
				starts[k], ends[k] = i, -1
				pc = pc + 1
			elseif o == 8 then -- balanced
				local first, last = set[pc][1], set[pc][2]
				if i > n or codes[i] ~= first then
					return nil
				end
				local depth, j = 1, i + 1
				while true do
					if j > n then
						return nil
					end
					local c = codes[j]
					if c == last then
						depth = depth - 1
						if depth == 0 then
							break
						end
					elseif c == first then
						depth = depth + 1
					end
					j = j + 1
				end
				i, pc = j + 1, pc + 1
			elseif o == 9 then -- frontier
				local t = set[pc]
				if t[codes[i - 1] or 0] or not t[codes[i] or 0] then
					return nil
				end
				pc = pc + 1
			elseif o == 10 then -- the text of a capture
				local k = arg[pc]
				local from, to = starts[k], ends[k]
				if not to then
					error("invalid capture index", 0)
				end
				for j = from, to - 1 do
					if codes[i + j - from] ~= codes[j] then
						return nil
					end
				end
				i, pc = i + to - from, pc + 1
			elseif o == 11 then -- the end
				return i == n + 1 and i or nil
			else
				return i
			end
		end
	end

	local finish = try(init, 1)
	return finish, starts, ends
end

-- Make find, match, gmatch and gsub from what reads a text as codes.
local function make(read, kind)
	local function captures(program, text, from, starts, ends, first, finish, whole)
		local count = program.captures
		if count == 0 then
			if whole then
				return sub(text, from and from[first] or first, (from and from[finish] or finish) - 1)
			end
			return
		end
		local values = {}
		for k = 1, count do
			if ends[k] == -1 then
				values[k] = starts[k]
			else
				values[k] = sub(text, from and from[starts[k]] or starts[k], (from and from[ends[k]] or ends[k]) - 1)
			end
		end
		return unpack(values, 1, count)
	end

	local function program_of(pattern)
		local program = programs[kind .. pattern]
		if program.message then
			error(program.message, 0)
		end
		return program
	end

	local function search(text, pattern, init, wants_positions)
		local program = program_of(pattern)
		local codes, n, from = read(text)
		init = init or 1
		if init < 0 then
			init = n + init + 1
		end
		if init < 1 then
			init = 1
		end
		while init <= n + 1 do
			local finish, starts, ends = run(program, codes, n, init)
			if finish then
				if wants_positions then
					return init, finish - 1, captures(program, text, from, starts, ends, init, finish, false)
				end
				return captures(program, text, from, starts, ends, init, finish, true)
			end
			if program.anchored then
				break
			end
			init = init + 1
		end
		return nil
	end

	local function each(text, pattern)
		local program = program_of(pattern)
		local codes, n, from = read(text)
		local position = 1
		return function()
			while position <= n + 1 do
				local finish, starts, ends = run(program, codes, n, position)
				local first = position
				if finish then
					position = finish > position and finish or position + 1
					return captures(program, text, from, starts, ends, first, finish, true)
				end
				position = position + 1
			end
			return nil
		end
	end

	local function replace(text, pattern, replacement, maximum)
		local program = program_of(pattern)
		local codes, n, from = read(text)
		local kind_of = type(replacement)
		if kind_of == "number" then
			replacement, kind_of = tostring(replacement), "string"
		end
		if kind_of ~= "string" and kind_of ~= "table" and kind_of ~= "function" then
			error("bad argument #3 to 'gsub' (string/function/table expected)", 0)
		end
		local made, count, position = {}, 0, 1
		local function slice(first, last)
			return sub(text, from and from[first] or first, (from and from[last] or last) - 1)
		end
		while not maximum or count < maximum do
			local finish, starts, ends = run(program, codes, n, position)
			if finish then
				count = count + 1
				local whole = slice(position, finish)
				local value
				if kind_of == "string" then
					if find(replacement, "%", 1, true) then
						local values = {captures(program, text, from, starts, ends, position, finish, true)}
						value = gsub(replacement, "%%(.)", function(sign)
							if sign == "0" then
								return whole
							end
							local number = tonumber(sign)
							if not number then
								return sign
							end
							local captured = values[number]
							if captured == nil then
								error("invalid capture index", 0)
							end
							return tostring(captured)
						end)
					else
						value = replacement
					end
				elseif kind_of == "table" then
					value = replacement[(captures(program, text, from, starts, ends, position, finish, true))]
				else
					value = replacement(captures(program, text, from, starts, ends, position, finish, true))
				end
				if not value then
					value = whole
				elseif type(value) ~= "string" and type(value) ~= "number" then
					error("invalid replacement value (a " .. type(value) .. ")", 0)
				end
				made[#made + 1] = value
			end
			if finish and finish > position then
				position = finish
			elseif position <= n then
				made[#made + 1] = slice(position, position + 1)
				position = position + 1
			else
				break
			end
			if program.anchored then
				break
			end
		end
		made[#made + 1] = slice(position, n + 1)
		local shown = table.concat(made)
		charge(#shown / 64)
		return shown, count
	end
	return {search = search, each = each, replace = replace}
end

local counted = make(bytes_of, "b")
local strings = {byte = byte, char = char, len = len}

local function text_of(value, name)
	if type(value) == "string" then
		return value
	elseif type(value) == "number" then
		return tostring(value)
	end
	error("bad argument to '" .. name .. "' (string expected, got " .. (value == nil and "nil" or type(value)) .. ")", 3)
end

function strings.find(text, pattern, init, plain)
	text, pattern = text_of(text, "find"), text_of(pattern, "find")
	if plain or is_small(text, pattern) then
		-- C compares the whole part at each place where it may begin.
		charge(#text / 64 + (plain and #text * #pattern / 512 or 0))
		return find(text, pattern, init, plain)
	end
	return counted.search(text, pattern, init, true)
end

function strings.match(text, pattern, init)
	text, pattern = text_of(text, "match"), text_of(pattern, "match")
	if is_small(text, pattern) then
		return match(text, pattern, init)
	end
	return counted.search(text, pattern, init, false)
end

function strings.gmatch(text, pattern)
	text, pattern = text_of(text, "gmatch"), text_of(pattern, "gmatch")
	if is_small(text, pattern) then
		return gmatch(text, pattern)
	end
	return counted.each(text, pattern)
end
strings.gfind = strings.gmatch

function strings.gsub(text, pattern, replacement, maximum)
	text, pattern = text_of(text, "gsub"), text_of(pattern, "gsub")
	if is_small(text, pattern) then
		local shown, count = gsub(text, pattern, replacement, maximum)
		charge(#shown / 64)
		return shown, count
	end
	return counted.replace(text, pattern, replacement, maximum)
end

function strings.format(template, ...)
	local shown = format(template, ...)
	charge(#shown / 64)
	return shown
end

function strings.rep(text, count)
	count = tonumber(count) or error("bad argument #2 to 'rep' (number expected)", 2)
	charge(count > 0 and count * (#text / 32 + 0.5) or 0)
	local shown = rep(text, count)
	return shown
end

for name, f in services.next, {lower = lower, upper = upper, reverse = reverse, sub = sub} do
	strings[name] = function(text, ...)
		local shown = f(text, ...)
		charge(#shown / 8)
		return shown
	end
end

return strings, {make = make, counted = counted, text_of = text_of}
