import { Command } from 'commander'
import { expect, it } from 'vitest'
import type { Context } from './context.ts'
import { addServeOptions, type ServeOptions, serveSettings } from './serve-options.ts'

async function settingsOf(...args: string[]) {
  const command = addServeOptions(new Command('serve').exitOverride().configureOutput({ outputError: () => {} }))
  const options = command.parse(['--data', './data', ...args], { from: 'user' }).opts<ServeOptions>()
  return serveSettings({ command } as Context, options)
}

it('settings of the engine come from options of several kinds', async () => {
  expect(await settingsOf()).not.toHaveProperty('engine')
  const redis = 'redis://localhost:6379'
  expect((await settingsOf('--undeclared-tenants', 'refuse')).engine).toEqual({ undeclaredTenants: 'refuse' })
  expect((await settingsOf('--undeclared-tenants', 'refuse', '--signals', redis)).engine).toEqual({
    ...{ undeclaredTenants: 'refuse', signals: redis },
  })
  await expect(settingsOf('--undeclared-tenants', 'reject')).rejects.toThrow('accept, refuse')
})
