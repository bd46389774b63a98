// Scripts that Redis runs atomically for the record store; this makes a swap atomic. A script's work grows with its arguments, never with
// how much is stored.

/**
 * KEYS: the key of each change; then the sorted sets that list keys; then, if any change is logged, position, epoch and log. ARGV: the
 * number of changes, how many entries the log keeps (0: no change is logged), an epoch to start with; then for each change: the number of
 * the sorted set that lists it (0: none), its name in it, whether it is logged, and its expected and new values, each as '=' and the bytes,
 * or '' for none. All values are checked before the first write, because Redis has no rollback.
 */
export const SWAP_SCRIPT = `
local count, kept = tonumber(ARGV[1]), tonumber(ARGV[2])
for i = 1, count do
  local stored = redis.call('GET', KEYS[i])
  if (stored and '=' .. stored or '') ~= ARGV[5 * i + 2] then return 0 end
end
local position, epoch, log = KEYS[#KEYS - 2], KEYS[#KEYS - 1], KEYS[#KEYS]
if kept > 0 and (redis.call('EXISTS', position) == 0 or redis.call('EXISTS', epoch) == 0) then
  redis.call('DEL', log, position)
  redis.call('SET', epoch, ARGV[3])
end
for i = 1, count do
  local list, name, isTold = tonumber(ARGV[5 * i - 1]), ARGV[5 * i], ARGV[5 * i + 1]
  local expected, value = ARGV[5 * i + 2], ARGV[5 * i + 3]
  if value == '' then redis.call('DEL', KEYS[i])
  elseif value ~= expected then redis.call('SET', KEYS[i], string.sub(value, 2)) end
  if list > 0 then
    if value == '' then redis.call('ZREM', KEYS[count + list], name)
    elseif expected == '' then redis.call('ZADD', KEYS[count + list], 0, name) end
  end
  if isTold == '1' then
    redis.call('XADD', log, 'MAXLEN', '=', kept, redis.call('INCR', position) .. '-0', 'k', name)
  end
end
return 1`;

/**
 * KEYS: position, epoch, log. ARGV: an epoch and a position in it that the caller knows, an epoch to start with. Returns the epoch, the
 * position, and the log entries since the known position; without the third part when the log does not go back that far.
 */
export const CHANGES_SCRIPT = `
local position, epoch = redis.call('GET', KEYS[1]), redis.call('GET', KEYS[2])
if not position or not epoch then
  redis.call('DEL', KEYS[3])
  redis.call('SET', KEYS[1], '0')
  redis.call('SET', KEYS[2], ARGV[3])
  return {ARGV[3], '0'}
end
local last, known = tonumber(position), tonumber(ARGV[2])
if epoch ~= ARGV[1] or known > last or last - known > redis.call('XLEN', KEYS[3]) then return {epoch, position} end
if known == last then return {epoch, position, {}} end
return {epoch, position, redis.call('XRANGE', KEYS[3], (known + 1) .. '-0', '+')}`;
