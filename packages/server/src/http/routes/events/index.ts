import { streamEvents } from './stream.ts'

export const eventsRoutes = { streamEvents }
