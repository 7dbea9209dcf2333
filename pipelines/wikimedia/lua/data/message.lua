-- mw.message: the few messages that modules use for text, where the wiki's language is English.

local services = ...
local ask, mw, tostring, site, stop = services.ask, services.mw, services.tostring, services.site, services.stop
local gsub = services.env.string.gsub
local message = {}
local methods = {}

local function make(text, parameters)
	local first = parameters[1]
	if type(first) == "table" and first.raw == nil and first.num == nil then
		parameters = first
	end
	return setmetatable({text = text, given = parameters}, {__index = methods, __tostring = function(self)
		return self:plain()
	end})
end

function message.new(key, ...)
	return make(ask("message", tostring(key)) or false, {...})
end

function message.newFallbackSequence(...)
	for _, key in ipairs({...}) do
		local text = ask("message", tostring(key))
		if text then
			return make(text, {})
		end
	end
	return make(false, {})
end

function message.newRawMessage(text, ...)
	return make(tostring(text), {...})
end

function message.rawParam(value)
	return {raw = value}
end

function message.numParam(value)
	return {num = value}
end

function message.getDefaultLanguage()
	return mw.language.getContentLanguage()
end

function methods:params(...)
	local values = {...}
	if type(values[1]) == "table" and not values[1].raw and not values[1].num then
		values = values[1]
	end
	for _, value in ipairs(values) do
		self.given[#self.given + 1] = value
	end
	return self
end

function methods:rawParams(...)
	return self:params(...)
end

function methods:numParams(...)
	local language = mw.language.getContentLanguage()
	for _, value in ipairs({...}) do
		self:params(language:formatNum(value))
	end
	return self
end

function methods:inLanguage()
	return self
end

function methods:useDatabase()
	return self
end

function methods:exists()
	return self.text and true or stop("message")
end

function methods:isBlank()
	return (self.text or stop("message")) == ""
end
methods.isDisabled = methods.isBlank

function methods:plain()
	return (gsub(self.text or stop("message"), "%$(%d+)", function(number)
		local value = self.given[tonumber(number)]
		if type(value) == "table" then
			value = value.raw or mw.language.getContentLanguage():formatNum(value.num)
		end
		return value and tostring(value)
	end))
end

return message
