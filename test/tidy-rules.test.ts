/** That the rules of tidy.test.ts can fail, on small made-up sources. */
import { describe, expect, it } from 'vitest'
import { importDirection, packageImports, serverRules } from './support/import-rules.ts'
import { importsOf, sourceFile } from './support/source-tree.ts'
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

const server = 'packages/server/src'
const file = (path: string, ...lines: string[]) => sourceFile(path, `${lines.join('\n')}\n`)
const places = (offences: Offence[]) => offences.map(({ at }) => at)
const imports = (path: string, from: string) => file(`${server}/${path}`, '// first', `import { x } from '${from}'`)

describe('what is read from a source', () => {
  it('every form of import, with its line', () => {
    const source = file(
      'a.ts',
      ...[`import a from 'a'`, `import type { B } from 'b'`, `import {`, '  c,', `} from 'c'`, `export * from 'd'`],
      ...[`import 'e'`, `const f = await import('f')`, `export type { G } from 'g'`],
    )
    expect(importsOf(source)).toEqual([
      { line: 1, from: 'a', typeOnly: false },
      { line: 2, from: 'b', typeOnly: true },
      { line: 3, from: 'c', typeOnly: false },
      { line: 6, from: 'd', typeOnly: false },
      { line: 7, from: 'e', typeOnly: false },
      { line: 8, from: 'f', typeOnly: false },
      { line: 9, from: 'g', typeOnly: true },
    ])
  })

  it('nothing from comments; texts and line numbers stay', () => {
    const source = file(
      'a.ts',
      '/**',
      ` * import { x } from 'x'`,
      ' */',
      `const url = 'http://a' // import 'y'`,
      `import 'z'`,
    )
    expect(importsOf(source)).toEqual([{ line: 5, from: 'z', typeOnly: false }])
    expect(source.code).toContain(`'http://a'`)
  })
})

describe('import direction', () => {
  it.each([
    ['domain/a.ts', '../store/b.ts'],
    ['domain/a.ts', '../lib/b.ts'],
    ['lib/a.ts', '../domain/b.ts'],
    ['lib/a.ts', '../observability/logger.ts'],
    ['store/jobs/a.ts', '../../signals/port.ts'],
    ['store/a.ts', '../scheduling/b.ts'],
    ['signals/a.ts', '../leadership/port.ts'],
    ['leadership/a.ts', '../signals/port.ts'],
    ['scheduling/a.ts', '../completion/b.ts'],
    ['jobs/a.ts', '../admission/b.ts'],
    ['upkeep/a.ts', '../config/b.ts'],
    ['workers/a.ts', '../jobs/b.ts'],
    ['http/routes/jobs/a.ts', '../../../library/b.ts'],
    ['http/a.ts', '../main.ts'],
    ['main.ts', './library/b.ts'],
    ['store/a.ts', '../embedded.ts'],
    ['index.ts', './store/b.ts'],
  ])('%s may not import %s', (path, from) => {
    expect(places(importDirection([imports(path, from)]))).toEqual([`${server}/${path}:2`])
  })

  it.each([
    ['domain/a.ts', './b.ts'],
    ['store/jobs/a.ts', '../../domain/b.ts'],
    ['leadership/a.ts', '../keep-alive/b.ts'],
    ['scheduling/a.ts', '../due-source/port.ts'],
    ['workers/a.ts', '../completion/b.ts'],
    ['http/routes/jobs/a.ts', '../../../jobs/b.ts'],
    ['main.ts', './upkeep/b.ts'],
    ['library/a.ts', '../main.ts'],
  ])('%s may import %s', (path, from) => {
    expect(importDirection([imports(path, from)])).toEqual([])
  })

  it('a folder without a rule must be given one', () => {
    expect(places(importDirection([file(`${server}/reports/a.ts`, '')]))).toEqual([`${server}/reports/a.ts:1`])
  })

  it('the rules have no way round: nobody may import who may import it', () => {
    const below = (room: string): Set<string> => {
      const seen = new Set<string>()
      const visit = (name: string) => {
        for (const next of serverRules[name]?.may ?? []) {
          if (seen.has(next)) continue
          seen.add(next)
          visit(next)
        }
      }
      visit(room)
      return seen
    }
    expect(Object.keys(serverRules).filter((room) => below(room).has(room))).toEqual([])
  })
})

describe('package imports', () => {
  it.each([
    ['packages/contract/src/a.ts', 'node:fs'],
    ['packages/sdk/src/a.ts', 'pg'],
    ['packages/sdk/src/a.ts', '@carillon/server'],
    ['packages/embedded/src/a.ts', '@carillon/server'],
    ['packages/server/src/serve/a.ts', '@carillon/embedded'],
    ['packages/cli/src/a.ts', '@carillon/embedded'],
    ['packages/server/src/domain/a.ts', 'node:fs'],
    ['packages/server/src/domain/a.ts', 'pg'],
    ['packages/server/src/domain/a.ts', '@carillon/contract/process'],
    ['packages/server/src/store/a.ts', '../../../sdk/src/b.ts'],
    ['packages/server/src/store/a.ts', '@carillon/sdk'],
    ['packages/server/src/lib/a.ts', '@carillon/sdk'],
  ])('%s may not import %s', (path, from) => {
    expect(places(packageImports([file(path, `import '${from}'`)]))).toEqual([`${path}:1`])
  })

  it.each([
    ['packages/sdk/src/a.ts', '@carillon/contract'],
    ['packages/sdk/src/a.ts', 'node:crypto'],
    ['packages/sdk/src/a.test.ts', 'vitest'],
    ['packages/contract/src/a.test.ts', 'vitest'],
    ['packages/server/src/store/a.ts', 'pg'],
    ['packages/server/src/embedded.ts', '@carillon/embedded'],
    ['packages/server/src/store/a.ts', '@carillon/contract/process'],
    ['packages/server/src/workers/a.ts', '@carillon/sdk'],
    ['test/a.test.ts', '../packages/server/src/main.ts'],
  ])('%s may import %s', (path, from) => {
    expect(packageImports([file(path, `import '${from}'`)])).toEqual([])
  })
})

describe('sizes', () => {
  const long = (path: string, lines: number) => file(path, ...new Array<string>(lines).fill('x'))

  it('400 lines are enough; a mark may not be passed, nor kept for nothing', () => {
    expect(fileSizes([long('a.ts', 400)], {})).toEqual([])
    expect(places(fileSizes([long('a.ts', 401)], {}))).toEqual(['a.ts:401'])
    expect(fileSizes([long('a.ts', 450)], { 'a.ts': 450 })).toEqual([])
    expect(places(fileSizes([long('a.ts', 451)], { 'a.ts': 450 }))).toEqual(['a.ts:451'])
    expect(places(fileSizes([long('a.ts', 399)], { 'a.ts': 450 }))).toEqual(['a.ts:1'])
    expect(places(fileSizes([], { 'a.ts': 450 }))).toEqual(['a.ts:1'])
  })
})

describe('what is banned', () => {
  it.each([
    [`${server}/upkeep/a.ts`, 'const now = Date.now()'],
    [`${server}/upkeep/a.ts`, 'const now = new Date()'],
    [`${server}/store/a.ts`, 'const url = process.env.URL'],
    [`${server}/store/a.ts`, `console.log('x')`],
    ['test/a.test.ts', 'debugger'],
    ['test/a.test.ts', `it.only('x', () => {})`],
  ])('%s: %s', (path, line) => {
    expect(places(banned([file(path, '', line)]))).toEqual([`${path}:2`])
  })

  it.each([
    [`${server}/lib/clock.ts`, 'const now = Date.now()'],
    [`${server}/upkeep/a.test.ts`, 'const now = Date.now()'],
    [`${server}/config/a.ts`, 'const url = process.env.URL'],
    ['packages/sdk/src/console-logger.ts', `console.warn('x')`],
    ['test/cluster/a.ts', `console.log('x')`],
    [`${server}/store/a.ts`, '// console.log is not used here'],
    [`${server}/store/a.ts`, 'const at = new Date(5)'],
  ])('%s may: %s', (path, line) => {
    expect(banned([file(path, line)])).toEqual([])
  })
})

describe('leftovers, skips and names', () => {
  it.each(['TODO', 'FIXME', 'XXX'])('a note with %s is found in comments too', (word) => {
    expect(places(leftovers([file('a.ts', 'x', `// ${word}: later`)]))).toEqual(['a.ts:2'])
  })

  it('vague words are found in what is shipped, in comments too; tests and applied migrations may have them', () => {
    const line = '// Whoever waits is told'
    expect(places(vagueWords([file(`${server}/lib/a.ts`, 'x', line)]))).toEqual([`${server}/lib/a.ts:2`])
    const others = [`${server}/lib/a.test.ts`, `${server}/store/migrations/0001_engine.sql`, 'test/a.ts']
    expect(vagueWords(others.map((path) => file(path, line)))).toEqual([])
  })

  it('a skipped test needs a reason', () => {
    const skip = `it.skip('x', () => {})`
    expect(places(skips([file('a.test.ts', '', skip)]))).toEqual(['a.test.ts:2'])
    expect(skips([file('a.test.ts', '// needs PostgreSQL 19', skip)])).toEqual([])
    expect(skips([file('a.test.ts', `${skip} // needs PostgreSQL 19`)])).toEqual([])
  })

  it.each([
    ...['packages/server/src/utils/a.ts', 'packages/sdk/src/types/a.ts', 'packages/server/src/store/readJob.ts'],
    ...['packages/server/src/store/read_job.ts', 'packages/server/src/store/lease-v2.ts', 'test/lease2.ts'],
    ...['packages/server/src/store/functions/changeJob.sql', 'test/life-old.test.ts'],
  ])('%s is no name', (path) => {
    expect(new Set(places(names([file(path, '')])))).toEqual(new Set([`${path}:1`]))
  })

  it.each([
    ...['packages/server/src/store/read-job.ts', 'packages/server/src/store/functions/jobs/change_job.sql'],
    ...[
      'packages/server/src/store/migrations/0001_engine.sql',
      'packages/server/src/domain/schedule/cron-model.test-support.ts',
    ],
  ])('%s is a name', (path) => {
    expect(names([file(path, '')])).toEqual([])
  })
})

describe('prepared statements', () => {
  const query = (path: string, ...lines: string[]) => file(`${server}/${path}`, ...lines)

  it('two texts under one name are found, across files and lines', () => {
    const one = query('store/a.ts', `database.query<{ a: number }>('read-a', 'select 1')`)
    const two = query('store/b.ts', 'await database.query(', `  'read-a',`, '  `select 2`,', ')')
    expect(places(statementNames([one, two]))).toEqual([`${server}/store/b.ts:1`])
  })

  it('one text under one name is fine wherever it is used; so is a statement without a name', () => {
    const one = query('store/a.ts', `database.query('renew', renewSql, [])`)
    const two = query(
      'keep-alive/b.ts',
      `client.query({ name: 'renew', text: renewSql })`,
      `database.query(null, 'select 1')`,
    )
    expect(places(statementNames([one, two]))).toEqual([])
  })
})

describe('column names', () => {
  const named = [`const id = row.job_id`, `const { run_at: runAt } = row`, `insert({ created_at: 0 })`]

  it('are found outside the store, as what is read, taken apart or written', () => {
    const source = file(`${server}/jobs/a.ts`, ...named)
    expect(places(columnNames([source]))).toEqual([1, 2, 3].map((line) => `${server}/jobs/a.ts:${line}`))
  })

  it('are fine in the store and in tests, in texts and comments, and where PostgreSQL or a standard gave them', () => {
    const store = file(`${server}/store/jobs/a.ts`, ...named)
    const test = file(`${server}/jobs/a.test.ts`, ...named)
    const other = file(
      `${server}/jobs/b.ts`,
      `const hint = 'Raise max_connections' // see job_id`,
      'const sql = `select job_id',
      '  from carillon.jobs`',
      `connect({ application_name: 'carillon' })`,
    )
    expect(columnNames([store, test, other])).toEqual([])
  })
})

describe('locks inside LATERAL', () => {
  const lock = (rows: string) =>
    file(`${server}/store/functions/a.sql`, 'select from x cross join lateral (', `  select from t ${rows}) y;`)

  it('are found on a range, and fine without one and without LATERAL', () => {
    const range = 'where t.id = x.id and t.id between low and high'
    expect(places(lateralLocks([lock(`${range} for no key update`)]))).toEqual([`${server}/store/functions/a.sql:1`])
    const plain = file(`${server}/store/functions/b.sql`, `select from t ${range} for update`)
    expect(lateralLocks([lock('where t.id = x.id for update'), lock(`${range} offset 0`), plain])).toEqual([])
  })
})
