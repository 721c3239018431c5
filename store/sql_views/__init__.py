"""SQL over documented views: the views, the statements that may be asked, the process that runs them."""
