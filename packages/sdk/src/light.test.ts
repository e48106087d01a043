import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'

const program = `
  import { registerHooks } from 'node:module'
  const loaded = []
  registerHooks({
    load(url, context, next) {
      loaded.push(url)
      return next(url, context)
    },
  })
  await import(process.argv[1])
  process.stdout.write(String(loaded.filter((url) => /typebox|ajv/.test(url)).length))
`

test('loading the SDK does not load the schemas of the contract', () => {
  const entry = new URL('./index.ts', import.meta.url).href
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', program, entry], { encoding: 'utf8' })
  expect(said).toBe('0')
})
