/** What a run tells: a table for people, and one document for programs. */
import type { Machine } from './measure/machine.ts'
import { shortNumber } from './measure/rounds.ts'
import type { Steadiness } from './measure/steadiness.ts'
import type { Result } from './scenario.ts'

export interface Report {
  scenario: string
  results: Result[]
  machine: Machine & Steadiness
  commit: string
}

/** One line of JSON with exactly these keys. */
export function documentOf({ scenario, results, machine, commit }: Report): string {
  const told = results.map(({ name, value, unit, target, ok, detail }) => ({ name, value, unit, target, ok, detail }))
  return JSON.stringify({ scenario, results: told, machine, commit })
}

/** A line a result, and below it what else is known of it. */
export function tableOf({ results, machine, commit }: Report): string {
  const rows = results.map((result) => [result.name, valueText(result), targetOf(result), verdictOf(result)])
  const header = ['what', 'value', 'target', '']
  const widths = header.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]!.length)))
  const line = (cells: string[]) =>
    cells
      .map((cell, i) => (i === 1 || i === 2 ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)))
      .join('  ')
      .trimEnd()
  const lines = results.flatMap((result, i) => [line(rows[i]!), ...detailsOf(result)])
  const { cpu, cores, memoryGb, os, node, postgres, fileSystem, loopMs, stolenPercent } = machine
  const where = `${cpu}, ${cores} cores, ${memoryGb} GB, ${os}, ${fileSystem}; Node ${node}, PostgreSQL ${postgres}; ${commit}`
  const how = `a fixed loop took ${loopMs[0]} ms before and ${loopMs[1]} ms after; ${stolenPercent} % of the time was taken by others`
  return [line(header), ...lines, '', where, how].join('\n')
}

/** 1 if a target was missed. */
export function exitCodeOf(results: readonly Result[]): number {
  return results.some(({ ok }) => ok === false) ? 1 : 0
}

function valueText({ value, unit }: Result): string {
  return `${shortNumber(value)} ${unit}`
}

function targetOf({ target, better, unit }: Result): string {
  return target === null ? '' : `${better === 'higher' ? '≥' : '≤'} ${shortNumber(target)} ${unit}`
}

function verdictOf({ ok }: Result): string {
  return ok === null ? '' : ok ? 'reached' : 'MISSED'
}

const width = 110

function detailsOf({ detail = {} }: Result): string[] {
  const texts = Object.entries(detail).map(
    ([key, value]) => `${key} ${typeof value === 'number' ? shortNumber(value) : value}`,
  )
  const lines: string[] = []
  for (const text of texts) {
    const last = lines.at(-1)
    if (last === undefined || last.length + text.length + 3 > width) lines.push(`    ${text}`)
    else lines[lines.length - 1] = `${last} · ${text}`
  }
  return lines
}
