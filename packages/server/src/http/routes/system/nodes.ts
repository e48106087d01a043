import { api } from '@carillon/contract/api'
import { listNodes as read } from '../../../store/nodes/facts.ts'
import { ok, route } from '../../route.ts'

export const listNodes = route(api.listNodes, async (_, { database }) => ok(await read(database)))
