/** Commands that need no node: schedules, crontabs, defaults, help. */
import { describe, expect, it } from 'vitest'
import { carillon } from './cli.ts'

describe('next', () => {
  it('shows a time that does not exist and times that come twice', async () => {
    const [spring, autumn] = await Promise.all([
      carillon(['next', '30 2 * * *', '--tz', 'America/New_York', '--after', '2030-03-09', '--count', '3']),
      carillon([
        'next',
        '30 1 * * *',
        '--tz',
        'America/New_York',
        '--after',
        '2030-11-03',
        '--count',
        '3',
        '--overlap',
        'BOTH',
        '--json',
      ]),
    ])
    expect(spring.stdout).toMatch(/Sun 2030-03-10 03:30:00 -04:00 +2030-03-10 07:30:00Z .*jumps over/)
    expect(autumn.json()[0].fires).toMatchObject([
      { local: '2030-11-03T01:30:00-04:00', dst: 'FIRST' },
      { local: '2030-11-03T01:30:00-05:00', dst: 'SECOND' },
      { local: '2030-11-04T01:30:00-05:00', dst: null },
    ])
  })

  it('refuses what is no zone, and names near ones', async () => {
    const { exitCode, stderr } = await carillon(['next', '@daily', '--tz', 'Europe/Berln'])
    expect({ exitCode, stderr }).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('Europe/Berlin') })
  })
})

describe('import crontab', () => {
  it('prints a file, and says on stderr what is lost', async () => {
    const input = '# Backup\n30 2 * * * /bin/backup\n@reboot /bin/agent\n'
    const { exitCode, stdout, stderr } = await carillon(['import', 'crontab', '-', '--tz', 'UTC'], { input })
    expect(exitCode).toBe(1)
    expect(stdout).toContain('  - key: backup\n    name: Backup\n')
    expect(stderr).toContain('line 3: @reboot')
  })
})

describe('help', () => {
  it('comes for every command; a group without a verb shows its own', async () => {
    const [create, group] = await Promise.all([carillon(['jobs', 'create', '--help']), carillon(['jobs'])])
    expect(create).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('Examples:') })
    expect(group).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining('backfill') })
  })

  it('defaults are the contract’s', async () => {
    const { stdout } = await carillon(['defaults'])
    expect(stdout).toMatch(/retryPolicy\.maxAttempts +4 /)
    expect(stdout).toMatch(/timeoutSec +300 /)
  })
})
