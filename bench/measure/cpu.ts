/**
 * What each side of a measurement used of the processors: user and system time from /proc. PostgreSQL is its postmaster,
 * the children it has and those it has waited for. `other` is what the whole machine did besides: where that is much, the
 * machine was not quiet and the figures are worth little.
 */
import { readdir, readFile } from 'node:fs/promises'

/** Processes that are measured. */
export type Role = 'node' | 'worker' | 'postgres' | 'generator'

/** Servers beside PostgreSQL, in scenarios that start them. */
export type ScaleOutServer = 'redis' | 'etcd' | 'kafka'

/** Milliseconds of CPU. */
export type Cpu = Record<Role | 'other', number> & Partial<Record<ScaleOutServer, number>>

/** What the kernel counts in here; the same on every Linux that Node runs on. */
const msPerTick = 10

export interface ProcessTimes {
  parent: number
  ms: number
  /** Of children that have ended and were waited for. */
  endedChildrenMs: number
}

/** Null: no such process. */
export async function timesOf(pid: number): Promise<ProcessTimes | null> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  return text === null ? null : parseStat(text)
}

/** The name in brackets may hold anything, so fields are counted from the last bracket. */
export function parseStat(text: string): ProcessTimes {
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const [user, system, childrenUser, childrenSystem] = fields.slice(11, 15) as [number, number, number, number]
  return {
    parent: fields[1]!,
    ms: (user + system) * msPerTick,
    endedChildrenMs: (childrenUser + childrenSystem) * msPerTick,
  }
}

/** A process, its living children and those that have ended. */
export async function familyMs(pid: number): Promise<number> {
  const own = await timesOf(pid)
  if (own === null) return 0
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const others = await Promise.all(pids.map(timesOf))
  const children = others.filter((times) => times?.parent === pid).reduce((sum, times) => sum + times!.ms, 0)
  return own.ms + own.endedChildrenMs + children
}

/** What all processors of the machine have done since it started, waiting left out. */
export async function machineMs(): Promise<number> {
  const text = await readFile('/proc/stat', 'utf8')
  const [user, nice, system, , , interrupts, softInterrupts] = text.split('\n')[0]!.split(/\s+/).slice(1).map(Number)
  return (user! + nice! + system! + interrupts! + softInterrupts!) * msPerTick
}

/** From one reading to the next. */
export function cpuBetween(before: Cpu, after: Cpu): Cpu {
  return mapCpu(after, (ms, role) => Math.max(0, ms - (before[role] ?? 0)))
}

/** For a result's detail: microseconds a unit of work, by role. */
export function cpuPer(cpu: Cpu, count: number): Record<string, number> {
  return Object.fromEntries(Object.entries(cpu).map(([role, ms]) => [`cpu ${role} µs`, (ms * 1_000) / count]))
}

/** For a result's detail: the share of one processor, in percent, by role. */
export function cpuShares(cpu: Cpu, elapsedMs: number): Record<string, number> {
  return Object.fromEntries(Object.entries(cpu).map(([role, ms]) => [`cpu ${role} %`, (ms * 100) / elapsedMs]))
}

function mapCpu(cpu: Cpu, change: (ms: number, role: keyof Cpu) => number): Cpu {
  return Object.fromEntries(
    Object.entries(cpu).map(([role, ms]) => [role, change(ms, role as keyof Cpu)]),
  ) as unknown as Cpu
}
