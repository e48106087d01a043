export const poolsRoutes = {}
