import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SecretRefs, SecretRefused, SecretUnavailable } from './secret-refs.ts'

let home: string
let refs: SecretRefs

const acme = { tenant: 'acme' }
const trusted = { trusted: true } as const

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'carillon-secrets-'))
  await mkdir(join(home, 'open/..data'), { recursive: true })
  await writeFile(join(home, 'open/key'), 'the value\n')
  await writeFile(join(home, 'open/..data/mounted'), 'mounted value')
  await symlink('..data/mounted', join(home, 'open/mounted'))
  await writeFile(join(home, 'closed'), 'not for you')
  await symlink(join(home, 'closed'), join(home, 'open/way-out'))
  await writeFile(join(home, 'open/large'), 'x'.repeat(100_000))
  await writeFile(join(home, 'open/empty'), '\n')
  // Through a link, as /var/run often is one.
  await symlink(home, `${home}-link`)
  process.env.CARILLON_SECRET_TEST = 'from the environment'
  process.env.CARILLON_OTHER = 'another'
  refs = new SecretRefs(['env:CARILLON_SECRET_*', `file:${home}/open/*`, `file:${home}-link/open/*`])
})
afterAll(async () => {
  delete process.env.CARILLON_SECRET_TEST
  delete process.env.CARILLON_OTHER
  await rm(home, { recursive: true })
  await rm(`${home}-link`)
})

describe('references', () => {
  it('are resolved within what the operator allows', async () => {
    expect(await refs.resolve('env:CARILLON_SECRET_TEST', acme)).toBe('from the environment')
    expect(await refs.resolve(`file:${home}/open/key`, acme)).toBe('the value')
    expect(await refs.resolve(`file:${home}/open/mounted`, acme)).toBe('mounted value')
    expect(await refs.resolve(`file:${home}-link/open/key`, acme)).toBe('the value')
  })

  it.each([
    ...['env:CARILLON_OTHER', 'env:PATH', 'env:CARILLON_SECRET_', 'env:CARILLON_SECRET_*', 'env:', 'PATH', 'http:x'],
    ...['file:HOME/closed', 'file:HOME/open/../closed', 'file:HOME/open/./key', 'file:HOME/open//key', 'file:open/key'],
    ...['file:HOME/open/', 'file:HOME/openness', 'file:HOME/open/key\0', 'FILE:HOME/open/key'],
  ])('%s is not allowed', async (text) => {
    const ref = text.replace('HOME', home)
    expect(refs.allows(ref, 'acme')).toBe(false)
    await expect(refs.resolve(ref, acme)).rejects.toEqual(new SecretRefused(`${ref} is not allowed here`))
  })

  it.each<[string, RegExp]>([
    ['env:CARILLON_SECRET_MISSING', /CARILLON_SECRET_MISSING is not set on this node/],
    ['file:HOME/open/missing', /open\/missing cannot be read on this node \(ENOENT\)/],
    ['file:HOME/open/large', /too large/],
    ['file:HOME/open/..data', /not a file/],
    ['file:HOME/open/empty', /is not set/],
  ])('%s is allowed, but cannot be had', async (text, message) => {
    const ref = text.replace('HOME', home)
    expect(refs.allows(ref, 'acme')).toBe(true)
    const error = await refs.resolve(ref, acme).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(SecretUnavailable)
    expect((error as Error).message).toMatch(message)
  })

  it('whose links lead out of the directory are refused', async () => {
    const ref = `file:${home}/open/way-out`
    await expect(refs.resolve(ref, acme)).rejects.toEqual(new SecretRefused(`${ref} leads out of what is allowed`))
  })

  it('of the operator need no prefix', async () => {
    expect(await refs.resolve(`file:${home}/closed`, trusted)).toBe('not for you')
    expect(await refs.resolve('env:CARILLON_OTHER', trusted)).toBe('another')
  })

  it('are all refused where nothing is allowed', () => {
    expect(new SecretRefs([]).allows('env:CARILLON_SECRET_TEST', 'acme')).toBe(false)
  })

  it('may be allowed one by one', () => {
    const one = new SecretRefs(['env:ONE', 'file:/run/secrets/two'])
    const given = ['env:ONE', 'env:ONE2', 'file:/run/secrets/two']
    expect(given.map((ref) => one.allows(ref, 'acme'))).toEqual([true, false, true])
  })
})

describe('what is allowed to one tenant', () => {
  it('is not allowed to others, and is not instead of what all may use', async () => {
    process.env.ACME__KEY = 'only for acme'
    const own = new SecretRefs(['env:CARILLON_SECRET_*'], { acme: ['env:ACME__*'], 'acme-eu': ['env:ACME_EU__*'] })
    expect(await own.resolve('env:ACME__KEY', acme)).toBe('only for acme')
    expect(await own.resolve('env:CARILLON_SECRET_TEST', acme)).toBe('from the environment')
    for (const tenant of ['acme-eu', 'Acme', 'acme ', '', '__proto__', 'constructor']) {
      expect(own.allows('env:ACME__KEY', tenant)).toBe(false)
      await expect(own.resolve('env:ACME__KEY', { tenant })).rejects.toBeInstanceOf(SecretRefused)
      expect(own.allows('env:CARILLON_SECRET_TEST', tenant)).toBe(true)
    }
    expect(own.allowedTo('acme')).toEqual(['env:CARILLON_SECRET_*', 'env:ACME__*'])
    expect(own.allowedTo('globex')).toEqual(['env:CARILLON_SECRET_*'])
    delete process.env.ACME__KEY
  })

  it('may be the same for several', () => {
    const both = new SecretRefs([], { a: ['env:TEAM__*'], b: ['env:TEAM__*'] })
    expect(['a', 'b', 'c'].map((tenant) => both.allows('env:TEAM__KEY', tenant))).toEqual([true, true, false])
  })

  it.each<[string[], Record<string, string[]>]>([
    [['env:HOOK_*'], { acme: ['env:HOOK_ACME_*'] }],
    [['env:HOOK_ACME'], { acme: ['env:HOOK_*'] }],
    [['env:HOOK_*'], { acme: ['env:HOOK_*'] }],
    [[], { acme: ['env:ACME_*'], 'acme-eu': ['env:ACME_EU_*'] }],
    [[], { 'acme-eu': ['env:ACME_EU_KEY'], acme: ['env:ACME_*'] }],
    [['file:HOME/*'], { acme: ['file:HOME/open/*'] }],
    // The same directory by another name.
    [['file:HOME/open/*'], { acme: ['file:HOME-link/open/acme-*'] }],
    [['file:HOME-link/open/*'], { acme: ['file:HOME/open/key'] }],
  ])('may not be readable through another prefix: %j and %j', (shared, byTenant) => {
    const there = (texts: string[]) => texts.map((text) => text.replace('HOME', home))
    const own = Object.fromEntries(Object.entries(byTenant).map(([tenant, texts]) => [tenant, there(texts)]))
    expect(() => new SecretRefs(there(shared), own)).toThrow('which overlaps with')
  })

  it('may lie beside what others have', () => {
    const shared = ['env:HOOK_*', 'file:/run/secrets/hook', `file:${home}/open/all-*`]
    const own = { acme: ['env:ACME_*', 'file:/run/secrets/acme/*'], globex: [`file:${home}/open/globex-*`] }
    expect(() => new SecretRefs(shared, own)).not.toThrow()
  })
})

it.each(['env:*', 'env:', 'file:/*', 'file:*', 'file:run/*', 'file:/run/../*', 'env:A*B*', 'X_*', '*', 'ftp:/x/*'])(
  'the prefix %s is refused',
  (prefix) => {
    expect(() => new SecretRefs([prefix])).toThrow('is not a prefix of secrets')
    expect(() => new SecretRefs([], { acme: [prefix] })).toThrow('is not a prefix of secrets')
  },
)
