/**
 * From a crontab to declared jobs that do what cron did: one try, no catching up, time enough. Whether a node may run
 * the commands is for its operator to say: a shell target names a command of the operator's list, and a line of a
 * crontab needs the shell itself there. The alternative is handlers, which get the line as their payload.
 */
import { basename } from 'node:path'
import type { WireJobInput } from '@carillon/contract'
import { meaningOf } from './dialect.ts'
import type { CrontabLine, Note } from './parse.ts'

export interface ImportOptions {
  managedBy: string
  /** The zone cron ran in, where the crontab does not say. */
  timezone: string
  target: 'shell' | 'handler'
  /** Null: it can be scheduled; else why not. */
  checkSchedule(schedule: string, timezone: string): string | null
}

export interface ImportedJob {
  line: number
  job: WireJobInput & { key: string }
}

const daySec = 86_400
/** Settings that speak to cron itself, or to the mail it sends: the command is not given them. */
const forMail = ['MAILFROM', 'CONTENT_TYPE', 'CONTENT_TRANSFER_ENCODING']
const forCron = ['CRON_TZ', 'MAILTO', 'SHELL', 'RANDOM_DELAY', ...forMail]
const heredoc = 'CARILLON_STDIN'

export function importLines(
  lines: readonly CrontabLine[],
  options: ImportOptions,
): { jobs: ImportedJob[]; notes: Note[] } {
  const keys = new Set<string>()
  const said = new Set<string>()
  const jobs: ImportedJob[] = []
  const notes: Note[] = []
  for (const line of lines) {
    const note = (message: string, lost = false) => notes.push({ line: line.line, message, lost })
    const { environment } = line
    const once = (message: string) => {
      if (!said.has(message)) note(`from here on, ${message}`)
      said.add(message)
    }
    const timezone = environment.CRON_TZ ?? options.timezone
    const { schedule, dayFields, remarks } = meaningOf(line.schedule)
    const refused = options.checkSchedule(schedule, timezone)
    if (refused !== null) {
      note(refused, true)
      continue
    }
    for (const remark of remarks) note(remark)
    for (const message of settingRemarks(environment, timezone)) once(message)
    if (line.user !== null) note(`does not run as ${line.user}, but as the account of the node or the worker`)
    const key = unique(slug(line.comment ?? nameOf(line.command)), keys)
    jobs.push({
      line: line.line,
      job: {
        key,
        ...(line.comment !== null && { name: line.comment.slice(0, 200) }),
        type: 'CRON',
        schedule,
        ...(timezone !== 'UTC' && { timezone }),
        ...(dayFields && { dayFields }),
        ...targetOf(line, key, options.target),
        retryPolicy: { maxAttempts: 1 },
        misfire: 'SKIP',
        timeoutSec: daySec,
      },
    })
  }
  return { jobs, notes }
}

/** What settings mean to cron that is not the same here, each said where it begins to hold. */
function settingRemarks(environment: Record<string, string>, timezone: string): string[] {
  const { CRON_TZ, TZ, MAILTO, RANDOM_DELAY, HOME } = environment
  const remarks: string[] = []
  if (CRON_TZ !== undefined) remarks.push(`times are read in ${CRON_TZ}, as cronie does; Debian’s cron ignores CRON_TZ`)
  if (TZ !== undefined) remarks.push(`TZ=${TZ} is for the commands only, as in cron: times are read in ${timezone}`)
  if (MAILTO) remarks.push(`output is not mailed to ${MAILTO}: it is kept with each execution`)
  if (RANDOM_DELAY !== undefined) remarks.push(`RANDOM_DELAY=${RANDOM_DELAY} is not carried over: set jitterSec`)
  if (HOME !== undefined) remarks.push(`commands do not start in ${HOME}: they have it as HOME, and run in /`)
  return remarks
}

function targetOf(line: CrontabLine, key: string, target: 'shell' | 'handler') {
  if (target === 'handler') {
    const { command, stdin } = line
    const environment = settingsOf(line)
    const set = Object.keys(environment).length > 0
    return {
      target: { handler: key },
      payload: { command, ...(stdin !== null && { stdin }), ...(set && { environment }) },
    }
  }
  const shell = basename(line.environment.SHELL ?? 'sh')
  return { target: { shell: { command: shell, args: ['-c', scriptOf(line)] } } }
}

/** The command as cron's shell saw it: with the settings, and with what it is to read. */
function scriptOf(line: CrontabLine): string {
  const { command, stdin } = line
  const settings = Object.entries(settingsOf(line))
    .map(([name, value]) => `export ${name}='${value.replaceAll("'", `'\\''`)}'\n`)
    .join('')
  // Else it would read the payload.
  if (stdin === null) return `${settings}exec </dev/null\n${command}`
  return `${settings}{ ${command}\n} <<'${heredoc}'\n${stdin}\n${heredoc}`
}

/** What the command finds in its environment; the others are meant for cron. */
function settingsOf({ environment }: CrontabLine): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !forCron.includes(name)))
}

/** The program a command line begins with, without settings and paths before it. */
function nameOf(command: string): string {
  const words = command.split(/\s+/).filter((word) => !/^[A-Za-z_]\w*=/.test(word))
  return basename(words[0] ?? 'job') || 'job'
}

function slug(text: string): string {
  const plain = text
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .toLowerCase()
  return plain.slice(0, 60) || 'job'
}

function unique(name: string, taken: Set<string>): string {
  let key = name
  for (let n = 2; taken.has(key); n++) key = `${name}-${n}`
  taken.add(key)
  return key
}
