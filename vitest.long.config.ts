/** `npm run test:long`: what `npm test` leaves out because it takes long. */
import { configDefaults, defineConfig } from 'vitest/config'
import base from './vitest.config.ts'
import { long } from './vitest.long.ts'

export default defineConfig({ test: { ...base.test, include: long, exclude: configDefaults.exclude } })
