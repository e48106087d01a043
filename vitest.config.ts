import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    include: ['packages/*/src/**/*.test.ts', 'bench/**/*.test.ts', 'proof/**/*.test.ts', 'test/**/*.test.ts'],
    // Needs programs that are not in the lockfile: npm run test:stock.
    exclude: ['**/node_modules/**', 'test/stock/**'],
    reporters: ['default', './test/support/closing-line.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    globalSetup: ['./test/support/global-setup.ts'],
    // Tests of real processes wait as much as they compute: one at a time leaves a core idle, three get in each other's way.
    maxWorkers: 2,
    // Where others wait for the outcome, a test may have one more try; the run names it, and it is to be mended.
    retry: process.env.CI ? 1 : 0,
  },
})
