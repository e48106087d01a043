/** A crontab as cron reads it: settings of the environment, comments, and lines with a time and a command. Pure. */

export interface CrontabLine {
  /** Its number in the file. */
  line: number
  schedule: string
  /** Of a system crontab. */
  user: string | null
  command: string
  /** What follows the first unescaped `%`. */
  stdin: string | null
  /** The comment right above. */
  comment: string | null
  /** The settings in force at this line. */
  environment: Record<string, string>
}

export interface Note {
  line: number
  message: string
  /** The line is not carried over. */
  lost: boolean
}

export interface ParsedCrontab {
  lines: CrontabLine[]
  notes: Note[]
}

const nicknames = new Map([
  ...['@hourly', '@daily', '@midnight', '@weekly', '@monthly', '@yearly', '@annually'].map(
    (name) => [name, name] as const,
  ),
  ['@every_minute', '* * * * *'],
  ['@every_second', '* * * * * *'],
])

export function parseCrontab(source: string, { system }: { system: boolean }): ParsedCrontab {
  const lines: CrontabLine[] = []
  const notes: Note[] = []
  const environment: Record<string, string> = {}
  let comment: string | null = null
  for (const [i, raw] of source.split(/\r?\n/).entries()) {
    const line = i + 1
    const text = raw.trim()
    if (text === '') {
      comment = null
    } else if (text.startsWith('#')) {
      comment = text.replace(/^#+\s*/, '') || null
    } else {
      const setting = /^("[^"]*"|'[^']*'|[A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$/.exec(text)
      if (setting) environment[unquoted(setting[1]!)] = unquoted(setting[2]!)
      else {
        const found = entryOf(text, system)
        if (typeof found === 'string') notes.push({ line, message: found, lost: true })
        else lines.push({ line, ...found, comment, environment: { ...environment } })
      }
      comment = null
    }
  }
  return { lines, notes }
}

type Entry = Pick<CrontabLine, 'schedule' | 'user' | 'command' | 'stdin'>

/** What the line says, or why it cannot be carried over. */
function entryOf(line: string, system: boolean): Entry | string {
  // SUSE's cron: a minus before the minute keeps the line out of the system's log.
  const text = line.replace(/^-(?=[\d*])/, '')
  const nickname = /^(@\S+)\s+(.*)$/.exec(text)
  const fields = nickname ? null : /^((?:\S+\s+){4}\S+)\s+(.*)$/.exec(text)
  if (/^@reboot\b/i.test(text)) return '@reboot runs when a machine starts: Carillon has no such moment'
  if (!nickname && !fields) return 'is neither a setting nor five fields and a command'
  const named = nickname && nicknames.get(nickname[1]!.toLowerCase())
  if (nickname && !named) {
    const seconds = /^@(\d+)$/.exec(nickname[1]!)?.[1]
    if (seconds)
      return `${nickname[1]} runs ${seconds} seconds after the previous run: use type INTERVAL with PT${seconds}S`
    return `${nickname[1]} is not known`
  }
  const schedule = named ?? fields![1]!.replace(/\s+/g, ' ')
  if (schedule.includes('~')) return 'a random time (~) is not known: choose one, or use jitterSec'
  const rest = (nickname ?? fields)![2]!
  const column = system ? /^(\S+)\s+(.*)$/.exec(rest) : null
  if (system && !column) return 'has no user and command: is this a system crontab?'
  const { command, stdin } = splitCommand(column?.[2] ?? rest)
  if (command === '') return 'has no command'
  return { schedule, user: column?.[1] ?? null, command, stdin }
}

/** Up to the first `%` it is the command, after it what the command reads; each further `%` is a new line there. */
function splitCommand(text: string): { command: string; stdin: string | null } {
  const parts = text.split(/(?<!\\)%/).map((part) => part.replaceAll('\\%', '%'))
  const [command = '', ...input] = parts
  return { command: command.trim(), stdin: input.length === 0 ? null : input.join('\n') }
}

function unquoted(text: string): string {
  return /^(["']).*\1$/.test(text) ? text.slice(1, -1) : text
}
