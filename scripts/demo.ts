/**
 * `npm run demo`: the demo of the command line. With `--scale-out` it starts Redis, etcd and Kafka on this machine first, each in a temporary
 * folder, and the demo's node uses all of them; they end with it. Only here, and not an option of `carillon demo`: what starts
 * the servers is part of a checkout. An installed command takes `--leadership`, `--hot-window` and so on.
 */
import { enableCompileCache } from 'node:module'
import type { EngineSettings } from '@carillon/server'
import { type ScaleOutName, type ScaleOutServers, startScaleOut } from './servers/scale-out.ts'

const flag = '--scale-out'
const interrupted = 130
const duties: Record<ScaleOutName, string> = {
  redis: 'what is due within the hour, signals, heartbeats, status',
  etcd: 'elects the leaders of shards',
  kafka: 'tells nodes what is ready',
}

const args = process.argv.slice(2)
process.exitCode = await (args.includes(flag) ? onServers(args.filter((each) => each !== flag)) : demo(args))

async function onServers(given: string[]): Promise<number> {
  const interrupt = new AbortController()
  const stop = () => interrupt.abort()
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  for (const name of signals) process.on(name, stop)
  console.log('Starting the servers of scale-out …')
  let servers: ScaleOutServers
  try {
    servers = await startScaleOut({ ownGroup: true, signal: interrupt.signal })
  } catch (error) {
    if (interrupt.signal.aborted) return interrupted
    console.error(`error: ${(error as Error).message}`)
    console.error('scripts/install-servers installs what is missing; without --scale-out the demo needs nothing of it')
    return 1
  }
  await using _running = servers
  if (interrupt.signal.aborted) return interrupted
  for (const [name, { url, pid }] of servers.all)
    console.log(`  ${name.padEnd(6)} ${url.padEnd(25)} process ${`${pid}`.padEnd(8)} ${duties[name]}`)
  console.log('Kill any of them, and PostgreSQL does its work.')
  // From here on the demo hears of signals.
  for (const name of signals) process.off(name, stop)
  return await demo([...given, ...optionsOf(servers.settings)])
}

/** `hotWindow` becomes `--hot-window`. */
function optionsOf(settings: EngineSettings): string[] {
  return Object.entries(settings).flatMap(([name, value]) => [
    `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    `${value}`,
  ])
}

async function demo(given: string[]): Promise<number> {
  enableCompileCache()
  const { run } = await import('../packages/cli/src/program.ts')
  process.argv.splice(2, Number.POSITIVE_INFINITY, 'demo', ...given)
  return await run()
}
