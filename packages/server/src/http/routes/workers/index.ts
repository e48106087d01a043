export const workersRoutes = {}
