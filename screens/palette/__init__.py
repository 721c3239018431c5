"""The palette: finds screens, actions, saved views, queries and items by what is typed."""
