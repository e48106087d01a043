/**
 * The steps of the hot window in Redis, each one script. Of every shard there are, in one slot:
 *   due      sorted set: members by due time
 *   claimed  sorted set: members by the time at which their claim runs out
 *   entries  hash: by job id, `version nominal due fires at definition`; `at` is when this was known to be true
 *   state    hash: generation, epoch, complete, until. It runs out when the window was not compared for long, and is gone after
 *            FLUSHALL: a window without it, or with another generation than its leader knows, is not used
 * A member is `job:version:nominal`; one that does not fit the entry of its job is dropped where it is met.
 *
 * What must stay true: an entry is in `due` or in `claimed`, never in neither. All times are arguments, on the installation's
 * clock. What is known for longer never replaces what is newer; see `mayReplace`.
 */
import { defineScript } from '../redis/connection.ts'

const shared = `
  local due, claimed, entries, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
  -- Clocks of nodes differ by less. An entry from the future was not written by a node.
  local skew, future = 1000, 60000

  local function read(job)
    local text = redis.call('hget', entries, job)
    if not text then return nil end
    local version, nominal, at_due, fires, at, definition = string.match(text, '^(%d+) (%-?%d+) (%-?%d+) (%d+) (%d+) (.*)$')
    if not version then return { at = 0, version = 0, nominal = 0 } end
    return { version = tonumber(version), nominal = tonumber(nominal), due = tonumber(at_due), at = tonumber(at),
      head = version .. ' ' .. nominal .. ' ' .. at_due .. ' ' .. fires, definition = definition,
      member = job .. ':' .. version .. ':' .. nominal, text = text }
  end

  local function drop(job, entry)
    if entry and entry.member then
      redis.call('zrem', due, entry.member)
      redis.call('zrem', claimed, entry.member)
    end
    redis.call('hdel', entries, job)
  end

  local function isNewer(version, nominal, than)
    if version ~= than.version then return version > than.version end
    return nominal > than.nominal
  end

  local function isRecent(entry, at)
    return entry.at >= at - skew and entry.at <= at + future
  end

  -- What was true at a time replaces what is older, or was known long before.
  local function mayReplace(old, version, nominal, at)
    return not old or not isNewer(old.version, old.nominal, { version = version, nominal = nominal }) or not isRecent(old, at)
  end

  local function jobOf(member)
    return string.match(member, '^[^:]+')
  end
`

/** ARGV: epoch. Voids all claims. Answers NONE (nothing is there), SUPERSEDED (by a later epoch) or LED, generation, complete. */
export const leadScript = defineScript(`${shared}
  local known = redis.call('hmget', state, 'generation', 'epoch', 'complete')
  if not known[1] then return { 'NONE' } end
  if tonumber(known[2]) > tonumber(ARGV[1]) then return { 'SUPERSEDED' } end
  redis.call('hset', state, 'epoch', ARGV[1])
  for _, member in ipairs(redis.call('zrange', claimed, 0, -1)) do
    local entry = read(jobOf(member))
    if entry and entry.member == member then redis.call('zadd', due, entry.due, member) end
  end
  redis.call('unlink', claimed)
  return { 'LED', known[1], known[3] }`)

/** ARGV: generation, epoch, until, how long the state is kept. Empties the window: it is to be filled. */
export const emptyScript = defineScript(`${shared}
  local epoch = redis.call('hget', state, 'epoch')
  if epoch and tonumber(epoch) > tonumber(ARGV[2]) then return 0 end
  redis.call('unlink', due, claimed, entries, state)
  redis.call('hset', state, 'generation', ARGV[1], 'epoch', ARGV[2], 'complete', '0', 'until', ARGV[3])
  redis.call('pexpire', state, ARGV[4])
  return 1`)

/** ARGV: generation, until. From now on entries up to that time are kept. 0: the window is another one. */
export const extendScript = defineScript(`${shared}
  if redis.call('hget', state, 'generation') ~= ARGV[1] then return 0 end
  redis.call('hset', state, 'until', ARGV[2])
  return 1`)

/** ARGV: generation, how long the state is kept. The window was compared with PostgreSQL. 0: it is another one. */
export const completeScript = defineScript(`${shared}
  if redis.call('hget', state, 'generation') ~= ARGV[1] then return 0 end
  redis.call('hset', state, 'complete', '1')
  redis.call('pexpire', state, ARGV[2])
  return 1`)

/**
 * ARGV: generation, epoch, now, until, how many, when the claims run out. Answers INCOMPLETE, SUPERSEDED, or OK, how many members were
 * looked at, and job id and entry of each that is handed out.
 */
export const claimScript = defineScript(`${shared}
  local known = redis.call('hmget', state, 'generation', 'epoch', 'complete')
  if known[1] ~= ARGV[1] or known[3] ~= '1' then return { 'INCOMPLETE' } end
  if known[2] ~= ARGV[2] then return { 'SUPERSEDED' } end
  for _, member in ipairs(redis.call('zrangebyscore', claimed, '-inf', ARGV[3], 'limit', 0, ARGV[5])) do
    local entry = read(jobOf(member))
    redis.call('zrem', claimed, member)
    if entry and entry.member == member then redis.call('zadd', due, entry.due, member) end
  end
  local members = redis.call('zrangebyscore', due, '-inf', ARGV[4], 'limit', 0, ARGV[5])
  local answer = { 'OK', #members }
  for _, member in ipairs(members) do
    local job = jobOf(member)
    local entry = job and read(job)
    redis.call('zrem', due, member)
    if entry and not entry.member then redis.call('hdel', entries, job) end
    if entry and entry.member == member then
      redis.call('zadd', claimed, ARGV[6], member)
      answer[#answer + 1] = job
      answer[#answer + 1] = entry.text
    end
  end
  return answer`)

/**
 * ARGV: at, then of each job id, version, nominal, due, fires and definition as PostgreSQL had them at that time; version empty: it
 * has nothing to come. Entries that are put are not claimed any more, if ARGV[2] says FREE; else a claim of the same stays.
 */
export const putScript = defineScript(`${shared}
  local horizon = tonumber(redis.call('hget', state, 'until'))
  if not horizon then return 0 end
  local at = tonumber(ARGV[1])
  for i = 3, #ARGV, 6 do
    local job, version, nominal, at_due = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
    local old = read(job)
    if not version or at_due > horizon then
      if old and not (old.at > at and isRecent(old, at)) then drop(job, old) end
    -- What is given back was refused, or could not be read: what PostgreSQL has now counts, unless it was written since.
    elseif mayReplace(old, version, nominal, at) or (ARGV[2] == 'FREE' and old.at <= at) then
      local member = job .. ':' .. ARGV[i + 1] .. ':' .. ARGV[i + 2]
      local kept = ARGV[2] ~= 'FREE' and old and old.member == member and old.due == at_due and redis.call('zscore', claimed, member)
      if not kept then
        drop(job, old)
        redis.call('zrem', claimed, member)
        redis.call('zadd', due, at_due, member)
      end
      redis.call('hset', entries, job, table.concat({ ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[1], ARGV[i + 5] }, ' '))
    end
  end
  return 1`)

/**
 * ARGV: at, then of each job id, version and nominal time that was fired, nominal, due and fires of the next (empty: there is
 * none), and when a claim of it runs out (empty: it is not claimed). Answers the jobs whose definition is not here.
 */
export const confirmScript = defineScript(`${shared}
  local horizon = tonumber(redis.call('hget', state, 'until'))
  local unknown = {}
  if not horizon then return unknown end
  for i = 2, #ARGV, 7 do
    local job, version, fired = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
    local nominal, next_due, fires, claim = ARGV[i + 3], tonumber(ARGV[i + 4]), ARGV[i + 5], ARGV[i + 6]
    local old = read(job)
    local stays = next_due and next_due <= horizon
    if old and isNewer(old.version, old.nominal, { version = version, nominal = fired }) and isRecent(old, tonumber(ARGV[1])) then
      -- It was changed meanwhile.
    elseif not stays then
      drop(job, old)
    elseif not old or old.version ~= version then
      unknown[#unknown + 1] = job
    else
      drop(job, old)
      local member = job .. ':' .. ARGV[i + 1] .. ':' .. nominal
      redis.call('hset', entries, job, table.concat({ ARGV[i + 1], nominal, ARGV[i + 4], fires, ARGV[1], old.definition }, ' '))
      if claim == '' then redis.call('zadd', due, next_due, member) else redis.call('zadd', claimed, claim, member) end
    end
  end
  return unknown`)

/**
 * ARGV: generation, from, until (as ZRANGEBYSCORE has it), when PostgreSQL was read, then job id and head of each that it had in that
 * range. Removes what it had not, unless written since. Answers LOST (the window is another one), or OK and the jobs to put.
 */
export const compareScript = defineScript(`${shared}
  if redis.call('hget', state, 'generation') ~= ARGV[1] then return { 'LOST' } end
  local at = tonumber(ARGV[4])
  local wanted, answer = {}, { 'OK' }
  for i = 5, #ARGV, 2 do
    local job, head = ARGV[i], ARGV[i + 1]
    local entry = read(job)
    wanted[job] = true
    if not entry or entry.head ~= head then
      local version, nominal = string.match(head, '^(%d+) (%-?%d+)')
      if not entry or isNewer(tonumber(version), tonumber(nominal), entry) or not isRecent(entry, at) then
        answer[#answer + 1] = job
      end
    elseif not redis.call('zscore', claimed, entry.member) then
      redis.call('zadd', due, entry.due, entry.member)
    end
  end
  for _, member in ipairs(redis.call('zrangebyscore', due, ARGV[2], ARGV[3], 'limit', 0, 20000)) do
    local job = jobOf(member)
    local entry = job and read(job)
    if not (entry and entry.member == member) then
      redis.call('zrem', due, member)
    elseif not wanted[job] and not isRecent(entry, at) then
      drop(job, entry)
    end
  end
  return answer`)
