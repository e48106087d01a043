export const jobsRoutes = {}
