import { createToken } from './create.ts'
import { listTokens } from './list.ts'
import { getMe } from './me.ts'
import { revokeToken } from './revoke.ts'

export const tokensRoutes = { getMe, listTokens, createToken, revokeToken }
