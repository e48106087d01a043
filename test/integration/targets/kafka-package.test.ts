/** Kafka targets where the package of Kafka is not installed: a process in which it cannot be found. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../..', import.meta.url))
const hiding = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module'
  registerHooks({
    resolve(specifier, context, next) {
      return next(specifier === '@platformatic/kafka' ? 'a-package-that-is-not-there' : specifier, context)
    },
  })
`)}`
const program = `
  import { createCarillon } from '@carillon/server'
  const targets = { kafka: { main: { url: 'kafka://127.0.0.1:1', topics: ['orders'] } } }
  const databaseUrl = 'postgres://127.0.0.1:1/nothing'
  await createCarillon({ databaseUrl, targets: {} })
  await createCarillon({ databaseUrl, targets }).catch(({ code, message, errors }) =>
    console.log(JSON.stringify({ code, hint: errors[0].hint })),
  )
`

it('is said before the node starts', async () => {
  const args = ['--import', hiding, '--input-type=module', '--eval', program]
  const { stdout } = await run(process.execPath, args, { cwd: root })
  expect(JSON.parse(stdout)).toEqual({
    code: 'CONFIG_INVALID',
    hint: 'Run npm install @platformatic/kafka, or leave out the URL of Kafka',
  })
})
