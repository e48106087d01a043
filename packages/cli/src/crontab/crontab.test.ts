import { describe, expect, it } from 'vitest'
import { parseCrontab } from './parse.ts'
import { importLines } from './to-manifest.ts'

const options = { managedBy: 'crontab', timezone: 'UTC', target: 'shell', checkSchedule: () => null } as const

function imported(source: string, more: { system?: boolean; target?: 'shell' | 'handler' } = {}) {
  const parsed = parseCrontab(source, { system: more.system ?? false })
  const { jobs, notes } = importLines(parsed.lines, { ...options, target: more.target ?? 'shell' })
  return { jobs: jobs.map(({ job }) => job), notes: [...parsed.notes, ...notes] }
}

function scriptOf(source: string): string {
  return imported(source).jobs[0]!.target.shell!.args![1]!
}

describe('a crontab', () => {
  it('becomes jobs that do what cron did', () => {
    const { jobs, notes } = imported('# Nightly backup\n30 2 * * *\t/usr/bin/backup --all\n')
    expect(notes).toEqual([])
    expect(jobs).toEqual([
      {
        key: 'nightly-backup',
        name: 'Nightly backup',
        type: 'CRON',
        schedule: '30 2 * * *',
        target: { shell: { command: 'sh', args: ['-c', 'exec </dev/null\n/usr/bin/backup --all'] } },
        retryPolicy: { maxAttempts: 1 },
        misfire: 'SKIP',
        timeoutSec: 86_400,
      },
    ])
  })

  it('keeps nicknames, names jobs by their program, and never twice the same', () => {
    const { jobs } = imported('@daily /opt/x.sh\n@hourly A=1 /opt/x.sh\n@every_minute /opt/x.sh\n')
    expect(jobs.map(({ key, schedule }) => [key, schedule])).toEqual([
      ['x-sh', '@daily'],
      ['x-sh-2', '@hourly'],
      ['x-sh-3', '* * * * *'],
    ])
  })

  it('a comment belongs to the line right below it only', () => {
    const { jobs } = imported('# Header\n\n0 1 * * * a\n# Name\n0 2 * * * b\n0 3 * * * c\n')
    expect(jobs.map(({ name }) => name)).toEqual([undefined, 'Name', undefined])
  })

  it('settings hold from their line on: zone, shell and environment', () => {
    const { jobs, notes } = imported(
      `0 1 * * * before\nCRON_TZ=Europe/Berlin\nSHELL=/bin/bash\nA = "it's"\n0 2 * * * after\n`,
    )
    expect(jobs[0]!.timezone).toBeUndefined()
    expect(jobs[1]).toMatchObject({ timezone: 'Europe/Berlin', target: { shell: { command: 'bash' } } })
    expect(jobs[1]!.target.shell!.args![1]).toBe(`export A='it'\\''s'\nexec </dev/null\nafter`)
    expect(notes).toMatchObject([{ line: 5, lost: false, message: expect.stringContaining('CRON_TZ') }])
  })

  it('TZ is for the command, as cron has it, and said so', () => {
    const { jobs, notes } = imported('TZ=Asia/Tokyo\n0 1 * * * x\n0 2 * * * y\n')
    expect(jobs.map(({ timezone }) => timezone)).toEqual([undefined, undefined])
    expect(jobs[0]!.target.shell!.args![1]).toContain(`export TZ='Asia/Tokyo'`)
    expect(notes).toMatchObject([{ line: 2, lost: false, message: expect.stringContaining('TZ=Asia/Tokyo') }])
  })

  it.each([
    ['MAILTO=a@example.org', 'mailed'],
    ['RANDOM_DELAY=15', 'jitterSec'],
    ['HOME=/srv', '/srv'],
  ])('%s means something to cron that it does not mean here, and that is said once', (setting, why) => {
    const { notes } = imported(`${setting}\n0 1 * * * x\n0 2 * * * y\n`)
    expect(notes).toMatchObject([{ line: 2, lost: false, message: expect.stringContaining(why) }])
  })

  it.each([
    ['0 0 */2 * 1 x', 'BOTH', '0 0 */2 * 1', 'begins with *'],
    ['0 0 13 * */2 x', 'BOTH', '0 0 13 * */2', 'begins with *'],
    ['0 0 1-31/2 * 1 x', undefined, '0 0 1-31/2 * 1', null],
    ['0 0 1,15 * 5 x', undefined, '0 0 1,15 * 5', null],
    ['0 0 * * 7 x', undefined, '0 0 * * 7', null],
    ['0 0 */2 * * x', undefined, '0 0 */2 * *', null],
    ['0 0 *,10 * 2 x', undefined, '0 0 *,10 * 2', null],
    ['0 0 10,* * 2 x', undefined, '0 0 * * *', 'every day'],
    ['5/10 * * * * x', undefined, '5/10 * * * *', '5 alone'],
    ['0 22-4 * * * x', undefined, '0 22-4 * * *', 'wraps around'],
    ['0 0 L * * x', undefined, '0 0 L * *', 'not known to cron'],
    ['0 0 * jul-AUG fri x', undefined, '0 0 * jul-AUG fri', null],
    ['-0 0 * * * x', undefined, '0 0 * * *', null],
  ])('%s keeps the meaning that cron gives it', (line, dayFields, schedule, why) => {
    const { jobs, notes } = imported(line)
    expect(jobs).toMatchObject([{ schedule }])
    expect(jobs[0]!.dayFields).toBe(dayFields)
    expect(notes).toMatchObject(why === null ? [] : [{ line: 1, lost: false, message: expect.stringContaining(why) }])
  })

  it('% ends the command and begins what it reads; \\% is a percent sign', () => {
    expect(scriptOf('0 9 * * * mail -s "100\\%" boss%Hello,%there')).toBe(
      `{ mail -s "100%" boss\n} <<'CARILLON_STDIN'\nHello,\nthere\nCARILLON_STDIN`,
    )
  })

  it('system crontabs have a user, which is not carried over', () => {
    const { jobs, notes } = imported('17 * * * * root cd / && run-parts /etc/cron.hourly\n', { system: true })
    expect(jobs[0]!.target.shell!.args![1]).toContain('cd / && run-parts')
    expect(notes).toMatchObject([{ line: 1, message: expect.stringContaining('root'), lost: false }])
  })

  it('as handlers, the command is the payload', () => {
    const { jobs } = imported('PATH=/bin\n0 9 * * * x --y%in\n', { target: 'handler' })
    expect(jobs[0]).toMatchObject({
      target: { handler: 'x' },
      payload: { command: 'x --y', stdin: 'in', environment: { PATH: '/bin' } },
    })
  })

  it.each([
    ['@reboot x', '@reboot'],
    ['@Reboot x', '@reboot'],
    ['@3600 x', 'PT3600S'],
    ['@fortnightly x', '@fortnightly'],
    ['0~30 1 * * * x', '~'],
    ['only three words', 'five fields'],
    ['0 1 * * *', 'five fields'],
  ])('says that %j is left out', (line, why) => {
    expect(imported(line)).toMatchObject({ jobs: [], notes: [{ line: 1, lost: true }] })
    expect(imported(line).notes[0]!.message).toContain(why)
  })
})
