/**
 * `npm run bench -- <scenario> [--quick] [--json] [--rounds 5] [--beside folder] [--part name]`: measures what SPEC section 8 promises. A table for people, with --json
 * one document in the last line. Exit code 0: all targets reached; 1: one was missed; 2: a scenario could not be run.
 */
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { openGround } from './ground/open-ground.ts'
import { describeCommit, describeMachine } from './measure/machine.ts'
import { watchMachine } from './measure/steadiness.ts'
import { documentOf, exitCodeOf, tableOf } from './report.ts'
import type { Bench, Result, Scenario } from './scenario.ts'

/** In the order in which `all` runs them. Each is the file of its name in scenarios/. */
const names = [
  'drain',
  'life',
  'submit-bulk',
  'submit-single',
  'status',
  'pickup',
  'lateness',
  'hot-second',
  'at-rest',
  'held-snapshot',
  'failover',
  'fleet',
  'dag',
  'limits',
  'peers',
]

/** Not part of `all`. */
const asides = ['growth', 'fairness', 'scale-out', 'dashboard']

const options = {
  quick: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  rounds: { type: 'string' },
  beside: { type: 'string' },
  part: { type: 'string' },
  // For the test of the benchmark itself: all sizes times this.
  scale: { type: 'string', default: '1' },
  help: { type: 'boolean', default: false },
} as const

const started = performance.now()
/** Set once it is ending: what fails then fails because of that. */
let silent = false
// What a scenario that did not come to its end has left open does not hold up the end.
process.exit(
  await main().catch((error: Error) => {
    console.error(error.message)
    return 2
  }),
)

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({ options, allowPositionals: true })
  const scale = Number(values.scale)
  const rounds = Number(values.rounds ?? (values.quick ? 1 : 5))
  const wanted = positionals[0] ?? ''
  const chosen = wanted === 'all' ? names : [...names, ...asides].filter((name) => name === wanted)
  if (
    values.help ||
    chosen.length === 0 ||
    positionals.length !== 1 ||
    !(scale > 0) ||
    !(Number.isInteger(rounds) && rounds > 0)
  ) {
    console.error(await usage())
    return values.help ? 0 : 2
  }
  const { quick } = values
  const beside = values.beside === undefined ? null : await checkoutIn(values.beside)
  if (beside !== null && !['life', 'dag'].includes(wanted)) {
    throw new Error('only `life` and `dag` are measured beside another checkout')
  }
  const part = values.part ?? null
  const parts = part === null ? [] : ((await load(chosen[0]!)).parts ?? [])
  if (part !== null && !parts.includes(part)) {
    throw new Error(`${wanted} has no part ${part}${parts.length === 0 ? '' : `; it has ${parts.join(', ')}`}`)
  }
  const interrupted = untilSignal()
  const size = (full: number, small: number) => Math.max(1, Math.round((quick ? small : full) * scale))
  const steadiness = await watchMachine()
  await using ground = await openGround({ historyRows: size(1_000_000, 100_000), progress })
  const outcome = await Promise.race([
    runAll(chosen, { quick, rounds, beside, part, ground, progress, size }),
    interrupted,
  ])
  if (outcome === 'interrupted') return 130
  const { results, broken } = outcome
  const machine = { ...(await describeMachine(ground.postgresVersion, ground.folder)), ...(await steadiness()) }
  const report = { scenario: wanted, results, machine, commit: await describeCommit() }
  console.log(`${quick ? 'The quick form: shows that it works, proves nothing.\n' : ''}${tableOf(report)}`)
  if (values.json) console.log(documentOf(report))
  return broken ? 2 : exitCodeOf(results)
}

/** One that fails does not keep the others from being run. */
async function runAll(chosen: string[], bench: Bench): Promise<{ results: Result[]; broken: boolean }> {
  const results: Result[] = []
  let broken = false
  for (const name of chosen) {
    try {
      results.push(...(await runScenario(name, bench)))
    } catch (error) {
      broken = true
      bench.progress(`${name}: ${(error as Error).stack}`)
      await bench.ground.clear()
    }
  }
  return { results, broken }
}

async function runScenario(name: string, bench: Bench): Promise<Result[]> {
  const scenario = await load(name)
  const minutes = bench.quick ? (scenario.quickLimitMinutes ?? 3) : (scenario.limitMinutes ?? 20)
  const limit = Promise.withResolvers<never>()
  const timer = setTimeout(() => limit.reject(new Error(`not done after ${minutes} minutes`)), minutes * 60_000)
  try {
    return await Promise.race([scenario.run(bench), bench.ground.broken, limit.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Whatever was started ends also when the benchmark is told to; told again, it ends at once. */
function untilSignal(): Promise<'interrupted'> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.once(signal, () => {
        progress(`${signal}: ending what was started`)
        silent = true
        resolve('interrupted')
      })
    }
  })
}

async function load(name: string): Promise<Scenario> {
  const module = (await import(`./scenarios/${name}.ts`)) as { scenario: Scenario }
  return module.scenario
}

/** To stderr, so that what is measured stands alone in stdout. */
function progress(text: string): void {
  if (silent) return
  const seconds = ((performance.now() - started) / 1_000).toFixed(1)
  console.error(`${seconds.padStart(7)} s  ${text}`)
}

/** A folder with another version of Carillon, as the base of URLs. */
async function checkoutIn(folder: string): Promise<URL> {
  const checkout = pathToFileURL(`${resolve(folder)}/`)
  const isThere = (path: string) =>
    stat(new URL(path, checkout)).then(
      () => true,
      () => false,
    )
  if (!(await isThere('bench/ground/template.ts')) || !(await isThere('node_modules'))) {
    throw new Error(`${folder} is no checkout of Carillon with its packages installed (git worktree add, npm ci)`)
  }
  return checkout
}

async function usage(): Promise<string> {
  const lines = await Promise.all(
    [...names, ...asides].map(
      async (name) => `  ${name.padEnd(14)} ${await load(name).then((s) => s.summary, String)}`,
    ),
  )
  const how = [
    'npm run bench -- <scenario> [--quick] [--json] [--rounds 5] [--beside folder] [--part name]',
    '  --beside: another checkout of Carillon, measured in turns with this one; with `life` and `dag`',
    '  --part: one of cost, life, failover, pickup with `scale-out`; of answers, scroll, cost with `dashboard`; of cost, drain with `dag`',
  ]
  return [...how, '', ...lines, '  all            every one of them'].join('\n')
}
