import { graphVariants } from './graphs.ts'
import { limitVariants } from './limits.ts'
import { partVariants } from './parts.ts'
import { sqlVariants } from './sql.ts'
import type { Variant } from './variant.ts'

export const variants: readonly Variant[] = [...sqlVariants, ...partVariants, ...graphVariants, ...limitVariants]
