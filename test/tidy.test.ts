/** The style of the whole repository, kept by rules that only get stricter. Offenders are listed as file:line. */
import { describe, expect, it } from 'vitest'
import { importDirection, packageImports } from './support/import-rules.ts'
import { readSourceTree } from './support/source-tree.ts'
import {
  banned,
  columnNames,
  fileSizes,
  lateralLocks,
  leftovers,
  names,
  type Offence,
  skips,
  statementNames,
  vagueWords,
} from './support/tidy-rules.ts'

const files = readSourceTree()
/** The rules themselves quote what they forbid. */
const speaking = files.filter(({ path }) => !['test/tidy-rules.test.ts', 'test/support/tidy-rules.ts'].includes(path))

describe('the source tree', () => {
  it('is found', () => {
    expect(files.length).toBeGreaterThan(100)
    expect(files.some(({ path }) => path === 'packages/server/src/main.ts')).toBe(true)
  })

  it('imports go one way: lib, domain <- store, seams <- the middle folders <- workers <- http, library', () => {
    expect(list(importDirection(files))).toEqual([])
  })

  it('packages import what they may, by name', () => {
    expect(list(packageImports(files))).toEqual([])
  })

  it('no file is longer than it may be', () => {
    expect(list(fileSizes(files))).toEqual([])
  })

  it('nothing banned is used: the wall clock, the environment, the console, debuggers, tests that run alone', () => {
    expect(list(banned(speaking))).toEqual([])
  })

  it('no two prepared statements have one name', () => {
    expect(list(statementNames(files))).toEqual([])
  })

  it('only the store names columns', () => {
    expect(list(columnNames(files))).toEqual([])
  })

  it('nothing in a range of partitions is locked through LATERAL', () => {
    expect(list(lateralLocks(files))).toEqual([])
  })

  it('no notes are left over', () => {
    expect(list(leftovers(speaking))).toEqual([])
  })

  it('what is shipped names who or what acts', () => {
    expect(list(vagueWords(files))).toEqual([])
  })

  it('no test is skipped without a reason', () => {
    expect(list(skips(speaking))).toEqual([])
  })

  it('files and folders have names that say what they are for', () => {
    expect(list(names(files))).toEqual([])
  })
})

function list(offences: Offence[]): string[] {
  return offences.map(({ at, what }) => `${at}  ${what}`)
}
