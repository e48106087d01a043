import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SecretRefs } from './secret-refs.ts'

let home: string
let refs: SecretRefs

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
    expect(await refs.resolve('env:CARILLON_SECRET_TEST')).toBe('from the environment')
    expect(await refs.resolve(`file:${home}/open/key`)).toBe('the value')
    expect(await refs.resolve(`file:${home}/open/mounted`)).toBe('mounted value')
    expect(await refs.resolve(`file:${home}-link/open/key`)).toBe('the value')
  })

  it.each([
    ...['env:CARILLON_OTHER', 'env:PATH', 'env:CARILLON_SECRET_', 'env:CARILLON_SECRET_*', 'env:', 'PATH', 'http:x'],
    ...['file:HOME/closed', 'file:HOME/open/../closed', 'file:HOME/open/./key', 'file:HOME/open//key', 'file:open/key'],
    ...['file:HOME/open/', 'file:HOME/openness', 'file:HOME/open/key\0', 'FILE:HOME/open/key'],
  ])('%s is not allowed', async (text) => {
    const ref = text.replace('HOME', home)
    expect(refs.allows(ref)).toBe(false)
    await expect(refs.resolve(ref)).rejects.toThrow('is not allowed here')
  })

  it.each<[string, RegExp]>([
    ['env:CARILLON_SECRET_MISSING', /CARILLON_SECRET_MISSING is not set on this node/],
    ['file:HOME/open/missing', /open\/missing cannot be read on this node \(ENOENT\)/],
    ['file:HOME/open/way-out', /open\/way-out leads out of what is allowed/],
    ['file:HOME/open/large', /too large/],
    ['file:HOME/open/..data', /not a file/],
    ['file:HOME/open/empty', /is not set/],
  ])('%s is allowed, but cannot be had', async (text, message) => {
    const ref = text.replace('HOME', home)
    expect(refs.allows(ref)).toBe(true)
    await expect(refs.resolve(ref)).rejects.toThrow(message)
  })

  it('of the operator need no prefix', async () => {
    expect(await refs.resolve(`file:${home}/closed`, { trusted: true })).toBe('not for you')
    expect(await refs.resolve('env:CARILLON_OTHER', { trusted: true })).toBe('another')
  })

  it('are all refused where nothing is allowed', () => {
    expect(new SecretRefs([]).allows('env:CARILLON_SECRET_TEST')).toBe(false)
  })

  it('may be allowed one by one', () => {
    const one = new SecretRefs(['env:ONE', 'file:/run/secrets/two'])
    expect([one.allows('env:ONE'), one.allows('env:ONE2'), one.allows('file:/run/secrets/two')]).toEqual([
      true,
      false,
      true,
    ])
  })
})

it.each(['env:*', 'env:', 'file:/*', 'file:*', 'file:run/*', 'file:/run/../*', 'env:A*B*', 'X_*', '*', 'ftp:/x/*'])(
  'the prefix %s is refused',
  (prefix) => {
    expect(() => new SecretRefs([prefix])).toThrow('is not a prefix of secrets')
  },
)
