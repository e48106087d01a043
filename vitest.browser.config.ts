/** `npm run test:browser`: the dashboard in Debian's Chromium (scripts/install-browser), against a node with real work. */
import { defineConfig } from 'vitest/config'
import { waitMs } from './test/support/wait-ms.ts'
import base from './vitest.config.ts'

export default defineConfig({
  test: {
    ...base.test,
    include: ['test/browser/**/*.test.ts'],
    exclude: [],
    testTimeout: 5 * waitMs,
    expect: { poll: { timeout: waitMs } },
  },
})
