export const something = 'else'
