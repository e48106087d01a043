import { describe, expect, it } from 'vitest'
import { type TargetSettings, targetConfig } from './target-config.ts'

function refused(settings: object): string | undefined {
  try {
    targetConfig(settings as TargetSettings)
  } catch (error) {
    const { code, errors } = error as { code: string; errors: { pointer?: string }[] }
    expect(code).toBe('CONFIG_INVALID')
    return errors[0]?.pointer
  }
  throw new Error(`accepted: ${JSON.stringify(settings)}`)
}

describe('what targets may do', () => {
  it('by default: HTTP to public addresses, no secrets, no programs', () => {
    const config = targetConfig()
    expect(config).toMatchObject({
      http: true,
      allow: [],
      ports: null,
      signWith: [],
      concurrency: 200,
      maxRequestSec: 900,
    })
    expect(config.shell.size).toBe(0)
    expect(config.secrets.allows('env:HOME')).toBe(false)
  })

  it('is frozen, and programs find no more of our environment than they need', () => {
    const config = targetConfig({ shell: { sh: '/bin/sh' } })
    expect(() => Object.assign(config, { http: false })).toThrow(TypeError)
    expect(Object.keys(config.shellEnvironment).filter((key) => !['PATH', 'LANG', 'TZ'].includes(key))).toEqual([])
  })

  it('takes addresses, CIDRs and hosts', () => {
    const allow = ['10.0.0.0/8', '127.0.0.1', 'fd00::/8', '::1', 'Hooks.Internal', 'localhost']
    expect(targetConfig({ allow }).allow).toEqual(allow.map((entry) => entry.toLowerCase()))
  })

  it.each([
    ...[
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0/8',
      'fd00::/129',
      'fe80::1%eth0',
      'http://a',
      'a b',
      '',
      '*',
      '*.a',
      'a..b',
    ],
    ...['0x7f.1', '2130706433', '[::1]', 'a/8', '1.2.3.4:80', 7],
  ])('refuses to allow %j', (entry) => {
    expect(refused({ allow: [entry] })).toBe('/targets/allow')
  })

  it.each<[object, string]>([
    [{ http: 'yes' }, '/targets/http'],
    [{ htttp: true }, '/targets/htttp'],
    [{ ports: [0] }, '/targets/ports'],
    [{ ports: ['80'] }, '/targets/ports'],
    [{ ports: 80 }, '/targets/ports'],
    [{ concurrency: 0 }, '/targets/concurrency'],
    [{ secrets: ['env:*'] }, '/targets/secrets'],
    [{ signWith: ['a key'] }, '/targets/signWith'],
    [{ signWith: ['env:A', 'env:B', 'env:C'] }, '/targets/signWith'],
    [{ shell: { sh: 'sh' } }, '/targets/shell/sh'],
    [{ shell: { sh: '/nowhere/sh' } }, '/targets/shell/sh'],
    [{ shell: { tmp: '/tmp' } }, '/targets/shell/tmp'],
    [{ shell: { 'a b': '/bin/sh' } }, '/targets/shell/a b'],
  ])('refuses %j', (settings, pointer) => {
    expect(refused(settings)).toBe(pointer)
  })
})
