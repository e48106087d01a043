/**
 * `npm run servers [redis] [etcd] [kafka]`: starts the servers of scale-out on free ports of this machine, each in a temporary folder of its own, says
 * where they are, and ends them on Ctrl-C.
 */
import { once } from 'node:events'
import { startEtcd } from './etcd.ts'
import { startKafka } from './kafka.ts'
import type { RunningServer } from './process.ts'
import { startRedis } from './redis.ts'

const starts: Record<string, () => Promise<RunningServer>> = { redis: startRedis, etcd: startEtcd, kafka: startKafka }

const named = process.argv.slice(2)
const unknown = named.find((name) => !(name in starts))
if (unknown !== undefined) {
  console.error(`${unknown} is none of ${Object.keys(starts).join(', ')}`)
  process.exit(2)
}
await using running = new AsyncDisposableStack()
const wanted = named.length > 0 ? named : Object.keys(starts)
const started = await Promise.allSettled(wanted.map(async (name) => running.use(await starts[name]!())))
started.forEach((each, i) => {
  if (each.status === 'fulfilled') console.log(`${wanted[i]!.padEnd(6)} ${each.value.url}`)
  else console.error(`${wanted[i]!.padEnd(6)} ${(each.reason as Error).message}`)
})
if (started.every(({ status }) => status === 'fulfilled')) {
  console.log('Ctrl-C ends them')
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
} else process.exitCode = 1
