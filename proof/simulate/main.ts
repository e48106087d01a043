/**
 * `npm run simulate`: runs seeds and says what they came to; exits with 1 if anything was violated. With `--variants`, runs
 * every deliberate defect until it is found; exits with 1 if one is not.
 */
import { parseArgs } from 'node:util'
import { Crew } from './crew.ts'
import type { Order } from './seed-process.ts'
import type { SeedReport } from './simulation.ts'
import { addUp } from './totals.ts'
import { variants } from './variants/index.ts'

const usage = `npm run simulate -- [--seeds N] [--seed S] [--json]
  --seeds N        so many seeds, from S or from 1 on (20; one if only --seed is given)
  --seed S         the first seed; the same seed gives the same run
  --variant NAME   with a deliberate defect: ${variants.map(({ name }) => name).join(', ')}
  --variants       every defect in turn: each must be found within N seeds (60)
  --processes P    so many at a time (2)
  --json           the result as one document, last, on standard output`

const settings = parse()
const processes = settings.processes ?? 2
const crew = await Crew.gather(Math.min(processes, settings.seeds))
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    interrupted = true
    void crew.close().finally(() => process.exit(130))
  })
}
try {
  process.exitCode = settings.variants ? await runVariants() : await runSeeds()
} catch (error) {
  if (!interrupted) throw error
} finally {
  await crew.close()
}

async function runSeeds(): Promise<number> {
  const began = performance.now()
  const reports: SeedReport[] = []
  let next = settings.seed
  const last = settings.seed + settings.seeds - 1
  const order = (): Order | null => (next > last ? null : { seed: next++, variant: settings.variant })
  await crew.work(order, (_, report) => {
    reports.push(report)
    if (report.violations.length > 0) say(describe(report))
    if (reports.length % 10 === 0 || settings.seeds <= 10) say(progress(reports, began))
  })
  const totals = addUp(reports, (performance.now() - began) / 1_000)
  if (settings.json) console.log(JSON.stringify(totals))
  else console.log(summary(totals))
  return totals.violations.length > 0 ? 1 : 0
}

async function runVariants(): Promise<number> {
  const found: Record<string, { seeds: number; checker: string | null }> = {}
  for (const { name, what } of variants) {
    let caught: SeedReport | null = null
    let next = settings.seed
    let seeds = 0
    const last = settings.seed + settings.seeds - 1
    const order = (): Order | null => (caught !== null || next > last ? null : { seed: next++, variant: name })
    await crew.work(order, (_, report) => {
      seeds++
      if (report.violations.length > 0) caught ??= report
    })
    const checker = (caught as SeedReport | null)?.violations[0]?.checker ?? null
    found[name] = { seeds, checker }
    say(`${checker ? 'found' : 'NOT FOUND'}  ${name} (${what}) ${checker ? `by ${checker} ` : ''}after ${seeds} seeds`)
  }
  if (settings.json) console.log(JSON.stringify({ variants: found }))
  return Object.values(found).every(({ checker }) => checker !== null) ? 0 : 1
}

function describe({ seed, violations, lastFaults }: SeedReport): string {
  const shown = violations.slice(0, 8).map(({ checker, subject, problem }) => `  ${checker}: ${subject} ${problem}`)
  const more = violations.length > shown.length ? [`  … and ${violations.length - shown.length} more`] : []
  const variant = settings.variant ? ` --variant ${settings.variant}` : ''
  return [
    `seed ${seed} is violated:`,
    ...shown,
    ...more,
    ' the last faults before its end:',
    ...lastFaults.slice(-8).map((fault) => `  ${fault}`),
    ` again: npm run simulate -- --seed ${seed}${variant}`,
  ].join('\n')
}

function progress(reports: SeedReport[], began: number): string {
  const { virtualSec, executions, violations } = addUp(reports, 0)
  const seconds = Math.round((performance.now() - began) / 1_000)
  const [hours, bad] = [(virtualSec / 3_600).toFixed(1), violations.length]
  return `${reports.length}/${settings.seeds} seeds in ${seconds} s: ${hours} h lived, ${executions} executions, ${bad} violations`
}

function summary(totals: ReturnType<typeof addUp>): string {
  const { seeds, seconds, executions, fired, lost, doubled, violations, faults, graphs, longestGapMs, digest } = totals
  const listed = (counts: Record<string, number>) =>
    Object.entries(counts)
      .map(([kind, count]) => `${kind} ${count}`)
      .sort()
      .join(', ')
  return [
    `${seeds} seeds in ${seconds} s, digest ${digest}`,
    `executions ${executions}, of which fired by schedule ${fired}; lost ${lost}, doubled ${doubled}, violations ${violations.length}`,
    `longest time without a fire or an end: ${(longestGapMs / 1_000).toFixed(1)} s`,
    `graphs: ${listed(graphs)}`,
    `faults: ${listed(faults)}`,
  ].join('\n')
}

function say(line: string): void {
  console.error(line)
}

function given() {
  try {
    return parseArgs({
      options: {
        seeds: { type: 'string' },
        seed: { type: 'string' },
        variant: { type: 'string' },
        variants: { type: 'boolean', default: false },
        processes: { type: 'string' },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    }).values
  } catch (error) {
    return refuse(`${(error as Error).message}\n${usage}`, 2)
  }
}

function parse() {
  const values = given()
  if (values.help) refuse(usage, 0)
  const number = (name: 'seeds' | 'seed' | 'processes', most: number) => {
    const text = values[name]
    if (text !== undefined && !(/^\d{1,9}$/.test(text) && Number(text) >= 1 && Number(text) <= most)) {
      refuse(`--${name} must be a whole number from 1 to ${most}, not ${text}\n${usage}`, 2)
    }
    return text === undefined ? undefined : Number(text)
  }
  const seed = number('seed', 999_999_999)
  const seeds = number('seeds', 1_000_000) ?? (values.variants ? 60 : seed === undefined ? 20 : 1)
  const variant = values.variant ?? null
  if (variant !== null && !variants.some(({ name }) => name === variant)) refuse(`no variant ${variant}\n${usage}`, 2)
  return {
    seed: seed ?? 1,
    seeds,
    variant,
    variants: values.variants,
    processes: number('processes', 16),
    json: values.json,
  }
}

function refuse(message: string, code: number): never {
  console.error(message)
  process.exit(code)
}
