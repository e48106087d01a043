import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['packages/*/src/**/*.test.ts', 'bench/**/*.test.ts', 'proof/**/*.test.ts', 'test/**/*.test.ts'],
    reporters: ['default', './test/support/closing-line.ts'],
    // These need servers that npm does not bring: vitest.stock.config.ts runs them.
    exclude: ['**/node_modules/**', 'test/stock/**'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    globalSetup: ['./test/support/global-setup.ts'],
    // Tests of real processes wait as much as they compute: one at a time leaves a core idle, three get in each other's way.
    maxWorkers: 2,
    // Where others wait for the outcome, a test may have one more try; the run names it, and it is to be mended.
    retry: process.env.CI ? 1 : 0,
  },
})
