/**
 * The tests on servers as operators have them, with the settings they ship with: PostgreSQL 15 and PgBouncer as Debian packages
 * them (scripts/install-stock installs both), PostgreSQL 16 and 17 from npm, which take a part of them. Here a missing server is a
 * failure.
 */
import { defineConfig } from 'vitest/config'

const shared = { testTimeout: 60_000, hookTimeout: 120_000 }
const stock = { ...shared, globalSetup: ['./test/support/stock-setup.ts'] }
const integration = 'test/integration/**/*.test.ts'
const short = ['life', 'transactions', 'firing', 'identity', 'migrate'].map(
  (name) => `test/integration/${name}{/**/*,}.test.ts`,
)

export default defineConfig({
  test: {
    reporters: ['default', './test/support/closing-line.ts'],
    maxWorkers: 2,
    retry: process.env.CI ? 1 : 0,
    projects: [
      { test: { ...stock, name: 'postgresql-15', include: ['test/stock/**/*.test.ts', integration] } },
      { test: { ...stock, name: 'postgresql-16', include: short } },
      { test: { ...stock, name: 'postgresql-17', include: short } },
      {
        test: {
          ...shared,
          name: 'pgbouncer',
          include: [integration],
          // They watch the locks of each connection, or set it up to tell its plans, and a pooler lends it to one after the other.
          exclude: [
            'test/integration/races/{lock-order,operations-locks}.test.ts',
            'test/integration/http/*-plan.test.ts',
          ],
          globalSetup: ['./test/support/pgbouncer-setup.ts'],
          setupFiles: ['./test/support/behind-pgbouncer.ts'],
        },
      },
    ],
  },
})
