/**
 * The tests on servers as operators have them, which scripts/install-stock installs: PostgreSQL 15 as Debian packages it,
 * with the settings it ships with, and PgBouncer before it. Here a missing server is a failure.
 */
import { defineConfig } from 'vitest/config'

const shared = { testTimeout: 60_000, hookTimeout: 120_000 }

export default defineConfig({
  test: {
    reporters: ['default', './test/support/closing-line.ts'],
    maxWorkers: 2,
    retry: process.env.CI ? 1 : 0,
    projects: [
      {
        test: {
          ...shared,
          name: 'postgresql-15',
          include: ['test/stock/**/*.test.ts', 'test/integration/**/*.test.ts'],
          globalSetup: ['./test/support/stock-setup.ts'],
        },
      },
      {
        test: {
          ...shared,
          name: 'pgbouncer',
          include: ['test/integration/**/*.test.ts'],
          globalSetup: ['./test/support/pgbouncer-setup.ts'],
          setupFiles: ['./test/support/behind-pgbouncer.ts'],
        },
      },
    ],
  },
})
