import { CarillonError, type Forecast } from '@carillon/contract'
import { type Command, InvalidArgumentError } from 'commander'
import { act, type Context } from '../context.ts'
import { wholeNumber } from '../pages.ts'
import { absolute, duration } from '../times.ts'

/** `carillon forecast`: what will fire, and where it collides. */
export function registerForecast(program: Command): void {
  program
    .command('forecast')
    .description(
      'what will fire: by minute for the next 24 hours, or by hour for some days; collisions and saturated pools',
    )
    .option('--days <count>', 'by hour, for 1 to 30 days', days)
    .option('--pool <name>', 'only fires for this pool')
    .addHelpText(
      'after',
      `
A line is an hour with its 60 minutes, with --days a day with its 24 hours, in UTC; the higher the sign, the more fires.

Examples:
  $ carillon forecast
  $ carillon forecast --days 30 --pool reports`,
    )
    .action(act(forecast))
}

function days(text: string): number {
  const count = wholeNumber(1)(text)
  if (count > 30) throw new InvalidArgumentError('Give 1 to 30.')
  return count
}

const dayMs = 86_400_000
/** The node waits for some seconds each time. */
const tries = 12

async function forecast(context: Context, { days, pool }: { days?: number; pool?: string }): Promise<void> {
  const { node, out } = context
  const to = new Date(context.now() + (days ?? 1) * dayMs).toISOString()
  const step = days === undefined ? 'MINUTE' : 'HOUR'
  const ask = async (left: number): Promise<Forecast> => {
    try {
      return await node.call('getForecast', { query: { step, to, pool } })
    } catch (error) {
      if (!(error instanceof CarillonError && error.code === 'UNAVAILABLE' && left > 1)) throw error
      out.progress('The forecast is being computed …')
      return ask(left - 1)
    }
  }
  const answer = await ask(tries).finally(() => out.progress(null))
  out.document(answer)
  if (!out.json) show(context, answer)
}

function show({ out, now }: Context, answer: Forecast): void {
  const { fires, jobs, leftOut, computedAt, collisions, pools } = answer
  const age = duration(Math.max(0, now() - Date.parse(computedAt)))
  out.line(
    `${fires} fires of ${jobs} jobs from ${absolute(answer.from)} to ${absolute(answer.to)}, computed ${age} ago`,
  )
  out.line()
  for (const line of heatLines(answer)) out.line(line)
  const full = pools.filter(({ buckets }) => buckets.some(({ saturated }) => saturated))
  if (full.length > 0) out.line()
  for (const { pool, slots, buckets } of full) {
    const saturated = buckets.filter((bucket) => bucket.saturated)
    const worst = Math.max(...saturated.map(({ busy }) => busy ?? 0))
    const what = slots === 0 ? 'has no live worker' : `needs up to ${worst.toFixed(1)} of ${slots} slots`
    out.line(out.style('yellow', `Pool ${pool} ${what}, first at ${absolute(saturated[0]!.at)}`))
  }
  if (collisions.length > 0) out.line()
  for (const { at, fires, jobs } of collisions.toSorted((a, b) => b.fires - a.fires).slice(0, 10)) {
    const names = jobs.map(({ name, jobId }) => name ?? jobId)
    const some = names.slice(0, 3).join(', ')
    out.line(`${absolute(at)}  ${fires} at once: ${some}${fires > 3 ? ', …' : ''}`)
  }
  if (leftOut > 0) out.note(`${leftOut} jobs were left out: their schedules cannot be computed, or fire too often.`)
}

const signs = '\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588'

/** One line for each hour by minute, or for each day by hour. Nothing is a dot. */
export function heatLines({ from, to, step, buckets }: Pick<Forecast, 'from' | 'to' | 'step' | 'buckets'>): string[] {
  const { unit, line } = step === 'MINUTE' ? { unit: 60_000, line: 60 } : { unit: 3_600_000, line: 24 }
  const most = Math.max(1, ...buckets.map(({ fires }) => fires))
  const fires = new Map(buckets.map((bucket) => [Date.parse(bucket.at), bucket.fires]))
  const lines: string[] = []
  const lineMs = unit * line
  for (let at = Math.floor(Date.parse(from) / lineMs) * lineMs; at < Date.parse(to); at += lineMs) {
    let sum = 0
    let text = ''
    for (let i = 0; i < line; i++) {
      const count = fires.get(at + i * unit) ?? 0
      sum += count
      text += count === 0 ? '\u00b7' : signs[Math.ceil((count / most) * signs.length) - 1]
    }
    const head = absolute(at).slice(0, step === 'MINUTE' ? 16 : 10)
    lines.push(`${head}  ${text}  ${sum}`)
  }
  return lines
}
