export const executionsRoutes = {}
