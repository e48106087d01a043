/** The part of the examination that asks Redis. Whatever is wrong there, PostgreSQL does its work: nothing of it is a failure. */
import { redisAddress } from '../config/redis-address.ts'
import { createLogger } from '../observability/logger.ts'
import { defineScript, RedisConnection } from '../redis/connection.ts'
import { type Finding, ok, warn } from './findings.ts'

/** ARGV: none. Version, memory in use and allowed, what is done when it is full. */
const infoScript = defineScript(`
  local info = redis.call('info', 'server') .. redis.call('info', 'memory')
  local of = function(name) return string.match(info, name .. ':([^\\r\\n]+)') or '' end
  return { of('redis_version'), of('used_memory'), of('maxmemory'), of('maxmemory_policy') }`)

const fullShare = 0.8

export async function examineRedis(url: string, installationId: string): Promise<Finding[]> {
  const address = redisAddress(url, 'signals')
  const redis = new RedisConnection({
    ...{ address, installationId: async () => installationId },
    logger: createLogger('silent'),
  })
  await redis.start()
  try {
    if (redis.isAway()) return [away()]
    const answer = await redis.run(infoScript, [redis.key('connection', 'probe')]).catch(() => null)
    if (answer === null) return [redis.isAway() ? away() : ok('redis', 'answers, and does not say how it is set up')]
    return examineInfo(answer as string[])
  } finally {
    await redis.stop()
  }
}

function away(): Finding {
  return warn(
    'redis',
    'does not answer: PostgreSQL does its work',
    'Look whether it runs and can be reached; the nodes use it again by themselves',
  )
}

function examineInfo([version, used, most, policy]: string[]): Finding[] {
  const findings: Finding[] = []
  if (policy !== undefined && policy !== '' && policy !== 'noeviction')
    findings.push(
      warn(
        'redis',
        `maxmemory-policy is ${policy}: it drops entries, which are then late by up to a minute`,
        'Set maxmemory-policy noeviction',
      ),
    )
  if (Number(most) > 0 && Number(used) > fullShare * Number(most))
    findings.push(
      warn('redis', `${Math.round((100 * Number(used)) / Number(most))} % of its memory is in use`, 'Raise maxmemory'),
    )
  return findings.length > 0 ? findings : [ok('redis', `Redis ${version} answers`)]
}
