/** Rates as people write them: 100/10s. */
import { InvalidArgumentError } from 'commander'

export interface Rate {
  count: number
  perSec: number
}

const units = { s: 1, m: 60, h: 3_600 } as const

export function parseRate(text: string): Rate {
  const [, count, amount, unit] = /^(\d{1,9})\/(\d{1,5})?([smh])$/.exec(text) ?? []
  if (count === undefined) throw new InvalidArgumentError('Give a number and a time, such as 100/10s, 5/m or 1000/1h.')
  return { count: Number(count), perSec: Number(amount ?? 1) * units[unit as keyof typeof units] }
}

export function rateText(rate: Rate | null): string {
  return rate === null ? '' : `${rate.count}/${rate.perSec}s`
}
