import { configDefaults, defineConfig } from 'vitest/config'
import { long } from './vitest.long.ts'

export default defineConfig({
  test: {
    include: ['packages/*/src/**/*.test.ts', 'bench/**/*.test.ts', 'test/**/*.test.ts'],
    reporters: ['default', './test/support/closing-line.ts'],
    // vitest.long.config.ts runs the long ones, vitest.stock.config.ts those on PostgreSQL as others ship it. Suites that need etcd or Redis
    // are here, and are skipped where these are missing (test/support/servers.ts).
    exclude: [...configDefaults.exclude, ...long, 'test/stock/**', 'test/browser/**'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    globalSetup: ['./test/support/global-setup.ts'],
    // Tests of real processes wait as much as they compute: one at a time leaves a core idle, three get in each other's way.
    maxWorkers: 2,
    // Where others wait for the outcome, a test may have one more try; the run names it, and it is to be mended.
    retry: process.env.CI ? 1 : 0,
  },
})
